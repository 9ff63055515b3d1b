"""What one run loads and how much memory it takes: it has to fit beside what it measures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.rigs.cli import WRITE_THEN_READ, Cli, over_ssh
from tests.rigs.sshd import running_sshd

pytestmark = pytest.mark.slow

HEAVY = ("polars", "scipy", "altair", "alembic")
"""Libraries of frames, statistics, pictures and migrations."""
NOT_FOR_SSH = (
    *("invoke", "rich.console", "psycopg", "sqlalchemy.orm", "sqlalchemy.ext.asyncio"),
    *("diskbench.report.assemble.trial_view", "diskbench.results.exported_rows"),
)
"""What paramiko and DBOS import and nothing here uses; what draws, which --quiet does without; and
what is for tables and CSV, where the result is JSON."""
MOST_MB = 250
MAIN = """
import json, os, re, sys
from diskbench.cli.main import main
code = main(sys.argv[1:])
# Not ru_maxrss, which begins with what the process that started this one held.
kib = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
with open(os.environ["WEIGHT_TO"], "w") as file:
    json.dump({"modules": sorted(sys.modules), "mb": kib / 1024}, file)
sys.exit(code)
"""


def weighed(user: Cli, tmp_path: Path, *args: str) -> tuple[set[str], float]:
    """The modules that were loaded at the end of `diskbench ARGS`, and its peak of memory in MB."""
    to = tmp_path / "weight.json"
    program = replace(
        user, program=("-c", MAIN), extra_env={**user.extra_env, "WEIGHT_TO": str(to)}
    )
    done = program.run(*args)
    assert done.returncode == 0, done.stderr
    weight = json.loads(to.read_text())
    return set(weight["modules"]), weight["mb"]


def test_a_run_loads_nothing_that_draws_and_fits_into_its_memory(
    user: Cli, target: Path, tmp_path: Path
) -> None:
    profile = tmp_path / "mine.fio"
    profile.write_text(WRITE_THEN_READ.format(seconds=2))
    run = ("run", "--path", str(target), "--profile", str(profile))
    user.run(*run)  # makes the database, which takes alembic
    modules, mb = weighed(user, tmp_path, *run)
    assert [name for name in HEAVY if name in modules] == []
    assert mb <= MOST_MB
    (measured, _) = user.json("results", "list")["runs"]
    (shown,) = user.json("results", "show", measured["run_id"])["runs"]
    logs = [c["holds"] for one in shown["audits"] for c in one["checks"] if c["name"] == "logs"]
    assert logs[-1] is True  # its logs were audited nevertheless


def test_a_quiet_run_over_ssh_loads_nothing_that_it_does_not_use(
    user: Cli, target: Path, tmp_path: Path
) -> None:
    profile = tmp_path / "mine.fio"
    profile.write_text(WRITE_THEN_READ.format(seconds=1))
    with running_sshd(tmp_path / "sshd") as server:
        over_ssh(user, server.config_block("box"))
        on_host = ("--provider", "ssh", "--host", "box", "--path", str(target))
        run = ("run", *on_host, "--profile", str(profile), "--quiet", "--output", "json")
        modules, _ = weighed(user, tmp_path, *run)
    assert "paramiko" in modules
    assert [name for name in NOT_FOR_SSH if name in modules] == []
