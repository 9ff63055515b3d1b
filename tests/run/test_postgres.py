"""The same run with its rows and its workflow in PostgreSQL, by URL alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rigs.cli import WRITE_THEN_READ, Cli, merged_rows
from tests.rigs.postgres import running_postgres

pytestmark = pytest.mark.slow


@pytest.fixture
def url() -> Iterator[str]:
    with running_postgres() as server:
        yield server


def test_a_run_killed_in_the_middle_resumes_from_postgresql(
    user: Cli, target: Path, tmp_path: Path, url: str
) -> None:
    user.extra_env["DISKBENCH_DATABASE_URL"] = url
    profile = tmp_path / "mine.fio"
    profile.write_text(WRITE_THEN_READ.format(seconds=2))
    process = user.start("run", "--path", str(target), "--profile", str(profile))
    assert process.stderr is not None
    for line in process.stderr:
        if "step 2 of 2" in line:
            break
    process.kill()
    process.communicate()
    done = user.run("resume", "--quiet", "--output", "json")
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert [r["step"] for r in merged_rows(run)] == ["write", "read"]
    assert list(target.iterdir()) == []
    assert not (user.home / ".local/share/diskbench/diskbench.db").exists()
