"""What one run loads and how much memory it takes: it has to fit beside what it measures."""

import json
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import pytest
from tests.rigs.cli import WRITE_THEN_READ, Cli

HEAVY = ("polars", "scipy", "vl_convert")
"""Libraries of frames, statistics and pictures."""
MOST_MB = 250
"""What a run may take on its controller (docs/design.md#premises)."""
MAIN = """
import json, os, re, sys, time
imported = []
sys.addaudithook(lambda event, args: event == "import" and imported.append((time.time(), args[0])))
from diskbench.cli.main import main
code = main(sys.argv[1:])
# Not ru_maxrss, which begins with what the process that started this one held.
kib = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
with open(os.environ["WEIGHT_TO"], "w") as file:
    json.dump({"modules": sorted(sys.modules), "mb": kib / 1024, "imported": imported}, file)
sys.exit(code)
"""


@dataclass(frozen=True)
class Weight:
    """The modules that were loaded at the end of a command, its peak of memory in MB, and when each
    module was imported, in Unix seconds."""

    modules: set[str]
    mb: float
    imported: list[tuple[float, str]]


def weighed(user: Cli, tmp_path: Path, *args: str) -> Weight:
    """Run `diskbench ARGS` and weigh it."""
    to = tmp_path / "weight.json"
    program = replace(
        user, program=("-c", MAIN), extra_env={**user.extra_env, "WEIGHT_TO": str(to)}
    )
    done = program.run(*args)
    assert done.returncode == 0, done.stderr
    weight = json.loads(to.read_text())
    return Weight(set(weight["modules"]), weight["mb"], weight["imported"])


def test_a_run_loads_nothing_that_draws_and_fits(user: Cli, target: Path, tmp_path: Path) -> None:
    profile = tmp_path / "mine.fio"
    profile.write_text(WRITE_THEN_READ.format(seconds=2))
    run = ("run", "--path", str(target), "--profile", str(profile))
    user.run(*run)  # makes the database
    weight = weighed(user, tmp_path, *run)
    assert [name for name in HEAVY if name in weight.modules] == []
    assert weight.mb <= MOST_MB
    (measured, _) = user.json("results", "list")["runs"]
    (shown,) = user.json("results", "show", measured["run_id"])["runs"]
    logs = [c["holds"] for one in shown["audits"] for c in one["checks"] if c["name"] == "logs"]
    assert logs[-1] is True  # its logs were audited nevertheless


@pytest.mark.parametrize("output", ["table", "json"])
def test_nothing_is_imported_from_the_first_step_to_the_last(
    output: str, user: Cli, target: Path, tmp_path: Path
) -> None:
    profile = tmp_path / "mine.fio"
    profile.write_text(WRITE_THEN_READ.format(seconds=1))
    run = ("run", "--path", str(target), "--profile", str(profile), "--output", output)
    weight = weighed(user, tmp_path, *run)
    (shown,) = user.json("results", "show", "last")["runs"]
    begin = datetime.fromisoformat(shown["started_at"]).timestamp()
    end = max(datetime.fromisoformat(step["finished_at"]) for step in shown["steps"]).timestamp()
    assert begin < end
    assert [name for at, name in weight.imported if begin < at < end] == []
