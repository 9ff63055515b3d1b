"""What goes wrong outside the measurement suspends the run: nothing is lost, and it goes on."""

from __future__ import annotations

from pathlib import Path

from tests.rigs.cli import WRITE_THEN_READ, Cli


def test_a_step_that_fails_ends_the_run_with_1_keeps_its_evidence_and_cleans_up(
    user: Cli, target: Path, tmp_path: Path
) -> None:
    profile = tmp_path / "mine.fio"
    profile.write_text(
        WRITE_THEN_READ.format(seconds=2)
        + "[verify]\nstonewall\nrw=read\nbs=4k\nverify=crc32c\nverify_only\n"
    )
    done = user.run("run", "--path", str(target), "--profile", str(profile), "--runs", "2")
    assert done.returncode == 1, done.stderr
    assert "verify" in done.stderr
    runs = user.json("results", "list")["runs"]
    assert sorted(r["state"] for r in runs) == ["cancelled", "failed"]
    failed = next(r for r in runs if r["state"] == "failed")
    evidence = user.home / ".local/share/diskbench/evidence/runs" / failed["run_id"]
    assert any("002-verify" in str(p) for p in evidence.rglob("job.fio"))
    assert list(target.iterdir()) == []
