"""Stores of earlier versions, and of later ones, in the hands of this one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.drills.book import drill
from tests.rigs.cli import a_user
from tests.rigs.old_stores import NAMES, unpacked
from tests.rigs.postgres import running_postgres

from diskbench.store.database import open_database
from diskbench.store.revisions import HEAD, VERSION_TABLE


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with running_postgres() as url:
        yield url


@pytest.mark.parametrize("name", NAMES)
@drill(
    done="A store that an earlier version made is opened, listed and shown.",
    holds="Both of its runs are listed, the finished one with its figures.",
)
def test_the_store_of_an_earlier_version_is_read(name: str, tmp_path: Path) -> None:
    old = unpacked(name, tmp_path)
    listed = old.user.json("results", "list")["runs"]
    assert {(one["run_id"], one["state"]) for one in listed} == {
        (old.whole, "done"),
        (old.killed, "suspended"),
    }
    shown = old.user.json("results", "show", old.whole)["runs"][0]
    assert [step["step"] for step in shown["steps"]] == ["write"]


@pytest.mark.parametrize("name", NAMES)
@drill(
    done="The rows of a store that an earlier version made are rebuilt in an empty database.",
    holds="The finished run has the figures that the earlier version wrote.",
    quick=False,
)
def test_the_evidence_of_an_earlier_version_is_rebuilt(name: str, tmp_path: Path) -> None:
    old = unpacked(name, tmp_path)
    before = old.user.json("results", "show", old.whole)["runs"][0]
    old.user.extra_env["DISKBENCH_DATABASE_URL"] = f"sqlite:///{tmp_path}/new.db"
    rebuilt = old.user.call("results", "rebuild")
    assert rebuilt.returncode == 0, rebuilt.stderr
    after = old.user.json("results", "show", old.whole)["runs"][0]
    assert [_figures(step) for step in after["steps"]] == [
        _figures(step) for step in before["steps"]
    ]


@pytest.mark.parametrize("name", NAMES)
@drill(
    done="A run that an earlier version began, and that was killed in its second step, is resumed.",
    holds="It ends with fio's figures, its evidence is unchanged, nothing is left on the host.",
)
def test_the_killed_run_of_an_earlier_version_is_resumed(name: str, tmp_path: Path) -> None:
    old = unpacked(name, tmp_path)
    planned = (old.evidence / "runs" / old.killed / "plan.json").read_bytes()
    first = _step_files(old.evidence, old.killed, "000-write")
    done = old.user.run("resume", "--output", "json")
    (run,) = json.loads(done.stdout)["runs"]
    assert run["run_id"] == old.killed
    steps = [step["step"] for step in run["steps"]]
    if old.marked:
        assert (done.returncode, run["state"]) == (0, "done"), done.stderr
        assert steps == ["write", "read", "last"]
    else:  # its directory cannot be told from another: nothing more is written there
        assert (done.returncode, run["state"]) == (1, "failed"), done.stderr
        assert steps == ["write", "read"]
    assert (old.evidence / "runs" / old.killed / "plan.json").read_bytes() == planned
    assert _step_files(old.evidence, old.killed, "000-write") == first
    assert not old.work_dir.exists()
    assert not old.state_dir.exists()
    again = old.user.call("results", "rebuild")
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize("name", NAMES)
@drill(
    done="gc gives back the resources of a killed run of an earlier version.",
    holds="The run ends as cancelled, its finished step is kept, and no resource stays.",
    quick=False,
)
def test_the_killed_run_of_an_earlier_version_is_given_back(name: str, tmp_path: Path) -> None:
    old = unpacked(name, tmp_path)
    first = _step_files(old.evidence, old.killed, "000-write")
    done = old.user.run("gc", old.killed)
    assert done.returncode == 0, done.stderr
    run = old.user.json("results", "show", old.killed)["runs"][0]
    assert run["state"] == "cancelled"
    assert not old.work_dir.exists()
    assert not old.state_dir.exists()
    assert _step_files(old.evidence, old.killed, "000-write") == first
    assert (old.evidence / "runs" / old.killed / "manifest.json").exists()


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
@pytest.mark.parametrize("command", [("status",), ("results", "list"), ("gc",), ("resume",)])
@drill(
    done="A command is given a database whose schema only a later version knows.",
    holds="It is refused with exit 2, naming both schemas and what to do; the database does not "
    "change.",
)
def test_the_schema_of_a_later_version_is_refused(
    command: tuple[str, ...], backend: str, tmp_path: Path, postgres: str
) -> None:
    url = f"sqlite:///{tmp_path}/later.db" if backend == "sqlite" else postgres
    made = open_database(url)
    with made.begin() as connection:
        connection.execute(sa.text(f"UPDATE {VERSION_TABLE} SET version_num = '9001'"))  # noqa: S608
    user = a_user(tmp_path)
    user.extra_env["DISKBENCH_DATABASE_URL"] = url
    refused = user.call_refused(*command)
    with made.begin() as connection:
        connection.execute(sa.text(f"UPDATE {VERSION_TABLE} SET version_num = '{HEAD}'"))  # noqa: S608
    made.dispose()
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert f"has schema 9001; this diskbench knows 0001 to {HEAD}" in refused.stderr
    assert "a newer diskbench wrote it: upgrade this one" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("command", ["resume", "gc"])
@drill(
    done="A plan was written by a later version, with a field that this version does not have.",
    holds="It is refused with exit 2, naming run, field and version; the run does not change.",
)
def test_the_plan_of_a_later_version_is_refused(command: str, tmp_path: Path) -> None:
    old = unpacked(NAMES[-1], tmp_path)
    with sqlite3.connect(old.database) as connection:
        connection.execute(
            "UPDATE diskbench_trial SET plan = json_set(plan, '$.diskbench_version', '99.1', "
            "'$.what_comes_later', 1)"
        )
    refused = old.user.call_refused(command)
    assert refused.returncode == 2, refused.stderr
    assert "what_comes_later" in refused.stderr
    assert "diskbench 99.1 wrote it: use that version, or a newer one" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert old.work_dir.exists()
    with sqlite3.connect(old.database) as connection:
        states = connection.execute("SELECT state FROM diskbench_run ORDER BY run_id").fetchall()
    assert states == [("done",), ("running",)]


def _figures(step: Any) -> list[Any]:
    """What was measured; what is derived from it, a later parser may derive better."""
    names = ("job", "direction", "ios", "bytes", "runtime_ns", "iops", "lat_mean_ns", "clat_max_ns")
    return [[row[name] for name in names] for row in step["measurements"]]


def _step_files(evidence: Path, run_id: str, folder: str) -> dict[str, bytes]:
    steps = evidence / "runs" / run_id / "steps" / folder
    return {path.name: path.read_bytes() for path in steps.iterdir()}
