"""An import that is refused keeps nothing: no row, and no file in the evidence store."""

import json
import os
from pathlib import Path

import pytest

CASES = Path(__file__).parents[2] / "cases/imports"
pytestmark = pytest.mark.slow


DAMAGED = {
    "a cut CSV line": b"1.97,1.97,host,1,1500000000,8196M,,1\n",
    "terse with a negative figure": b"3;fio-3.33;a;0;0;-1;" + b"0;" * 200,
    "figures that disagree": (
        b"Timing cached reads:   2 MB in  2.00 seconds = 10143.33 MB/sec\n"
        b"Timing buffered disk reads: 484 MB in  3.01 seconds = 160.89 MB/sec\n"
    ),
    "JSON that ends early": b'{"fio version" : "fio-3.33", "jobs" : [',
    "text of fio without results": b"fio-2.1\nStarting 1 process\n",
    "nothing known": b"bought on Tuesday",
}


@pytest.mark.parametrize("first", [True, False], ids=["after a good file", "before it"])
@pytest.mark.parametrize("what", DAMAGED)
def test_one_bad_file_of_several_leaves_nothing_behind(call, tmp_path, what, first):
    bad = tmp_path / "bad.txt"
    bad.write_bytes(DAMAGED[what])
    good = CASES / "bonnie-1.96.txt"
    err = call.refused("results", "import", *map(str, [good, bad] if first else [bad, good]))
    assert "bad.txt" in err
    assert "Traceback" not in err
    assert nothing_is_kept(call, tmp_path)


@pytest.mark.parametrize(
    ("name", "label"), [(b"half-\xff.txt", "a=b"), (b"whole.txt", os.fsdecode(b"a=half-\xff"))]
)
def test_a_name_that_no_database_keeps_leaves_nothing_behind(call, tmp_path, name, label):
    path = tmp_path / os.fsdecode(name)
    path.write_bytes((CASES / "bonnie-1.96.txt").read_bytes())
    assert "not valid UTF-8" in call.refused("results", "import", "--label", label, str(path))
    assert nothing_is_kept(call, tmp_path)


def nothing_is_kept(call, tmp_path):
    assert not [path for path in tmp_path.glob("evidence/**/*") if path.is_file()]
    code, out, _ = call("results", "list", "--output", "json")
    return code == 0 and json.loads(out)["runs"] == []
