"""dd's own output, imported, beside a run of our profile dd."""

import json
from pathlib import Path

DD = Path(__file__).parents[1] / "cases" / "imports" / "dd-write-4k.txt"


def test_an_imported_result_is_set_beside_our_profile_of_the_tool(user, target):
    user.call("results", "import", str(DD))
    flags = ["--path", str(target), "--profile", "dd", "--set", "count=4", "--quiet"]
    user.json("run", *flags)
    sides = ["provider=import/dd", "profile=dd"]
    found = user.call("compare", *sides, "--metric", "bytes_per_s", "--output", "json")
    (line,) = json.loads(found.stdout)["compared"]
    assert (line["step"], line["direction"]) == ("dd-write", "write")
    assert any("fidelity.md" in doubt for doubt in line["doubts"])
