"""A program that a job file starts, allowed by the owner of this machine."""

from __future__ import annotations

import json
from pathlib import Path

from tests.rigs.cli import Cli

JOB = "[a]\nrw=write\nsize=1m\nexec_prerun=touch {marker}\n"


def test_an_allowed_program_runs_and_the_evidence_says_that_it_was_allowed(
    user: Cli, target: Path, tmp_path: Path
) -> None:
    marker, job = tmp_path / "marker", tmp_path / "job.fio"
    job.write_text(JOB.format(marker=marker))
    asked = ["run", "--path", str(target), "--profile", str(job), "--quiet"]
    refused = user.run(*asked)
    assert refused.returncode == 2
    assert not marker.exists()
    (run,) = user.json(*asked, "--allow", "exec_prerun")["runs"]
    assert run["state"] == "done"
    assert marker.exists()
    (plan,) = user.home.rglob("plan.json")
    kept = json.loads(plan.read_text("utf-8"))
    assert kept["cell"]["allowed"] == ["exec_prerun"]
    assert any("--allow exec_prerun" in line for line in kept["changes"])
