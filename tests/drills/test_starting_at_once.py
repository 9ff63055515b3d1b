"""Many processes that start at the same moment on an empty home, or on an empty database."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.rigs.cli import Cli
from tests.rigs.postgres import running_postgres

AT_ONCE = 6
JOB = "[a]\nrw=write\nsize=256k\nbs=64k\nioengine=psync\n"


@pytest.mark.parametrize("database", ["SQLite", "PostgreSQL"])
def test_processes_that_start_at_once_share_an_empty_database(
    user: Cli, tmp_path: Path, database: str
) -> None:
    """Six processes start on an empty home, or PostgreSQL, and measure one directory each."""
    profile = tmp_path / "mine.fio"
    profile.write_text(JOB)
    with ExitStack() as stack:
        if database == "PostgreSQL":
            user.extra_env["DISKBENCH_DATABASE_URL"] = stack.enter_context(running_postgres())
        started = []
        for number in range(AT_ONCE):
            target = tmp_path / f"target{number}"
            target.mkdir()
            started.append(user.start("run", "--path", str(target), "--profile", str(profile)))
        said = [process.communicate(timeout=240)[1] for process in started]
        assert [process.returncode for process in started] == [0] * AT_ONCE, said
        runs = user.json("results", "list")["runs"]
        assert [run["state"] for run in runs] == ["done"] * AT_ONCE
        assert len({run["run_id"] for run in runs}) == AT_ONCE
        shown = json.loads(user.run("results", "export", "--format", "json").stdout)["runs"]
        assert len(shown) == AT_ONCE
        assert all(run["steps"][0]["measurements"] for run in shown)
