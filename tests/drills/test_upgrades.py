"""Stores of earlier versions, and of later ones, in the hands of this one."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from tests.drills.book import drill
from tests.rigs.old_stores import NAMES, unpacked


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
        (old.killed, "running"),
    }
    shown = old.user.json("results", "show", old.whole)["runs"][0]
    assert [step["step"] for step in shown["steps"]] == ["write"]


@pytest.mark.parametrize("name", NAMES)
@drill(
    done="The rows of a store that an earlier version made are rebuilt in an empty database.",
    holds="The finished run has the rows that the earlier version wrote.",
)
def test_the_evidence_of_an_earlier_version_is_rebuilt(name: str, tmp_path: Path) -> None:
    old = unpacked(name, tmp_path)
    before = old.user.json("results", "show", old.whole)["runs"][0]
    old.user.extra_env["DISKBENCH_DATABASE_URL"] = f"sqlite:///{tmp_path}/new.db"
    rebuilt = old.user.run("results", "rebuild")
    assert rebuilt.returncode == 0, rebuilt.stderr
    after = old.user.json("results", "show", old.whole)["runs"][0]
    assert after["steps"] == before["steps"]


@pytest.mark.parametrize("name", NAMES)
@drill(
    done="A run that an earlier version began, and that was killed in its second step, is resumed.",
    holds="It ends with all its steps, and its evidence is what its manifest says.",
)
def test_the_killed_run_of_an_earlier_version_is_resumed(name: str, tmp_path: Path) -> None:
    old = unpacked(name, tmp_path)
    planned = (old.evidence / "runs" / old.killed / "plan.json").read_bytes()
    first = _step_files(old.evidence, old.killed, "000-write")
    done = old.user.run("resume", "--output", "json")
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert (run["run_id"], run["state"]) == (old.killed, "done")
    assert [step["step"] for step in run["steps"]] == ["write", "read", "last"]
    assert (old.evidence / "runs" / old.killed / "plan.json").read_bytes() == planned
    assert _step_files(old.evidence, old.killed, "000-write") == first
    again = old.user.run("results", "rebuild")
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize("name", NAMES)
@drill(
    done="What a killed run of an earlier version left is given back with gc.",
    holds="The run ends as cancelled, its finished step is kept, and nothing of it stays.",
)
def test_the_killed_run_of_an_earlier_version_is_given_back(name: str, tmp_path: Path) -> None:
    old = unpacked(name, tmp_path)
    first = _step_files(old.evidence, old.killed, "000-write")
    done = old.user.run("gc", old.killed)
    assert done.returncode == 0, done.stderr
    run = old.user.json("results", "show", old.killed)["runs"][0]
    assert run["state"] == "cancelled"
    assert not old.work_dir.exists()
    assert _step_files(old.evidence, old.killed, "000-write") == first
    assert (old.evidence / "runs" / old.killed / "manifest.json").exists()


def _step_files(evidence: Path, run_id: str, folder: str) -> dict[str, bytes]:
    steps = evidence / "runs" / run_id / "steps" / folder
    return {path.name: path.read_bytes() for path in steps.iterdir()}
