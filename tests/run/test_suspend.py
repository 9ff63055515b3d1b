"""What goes wrong outside the measurement suspends the run: nothing is lost, and it goes on."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rigs.cli import WRITE_THEN_READ, Cli, merged_rows

pytestmark = pytest.mark.slow


@pytest.fixture
def small_store(tmp_path: Path) -> Iterator[Path]:
    """A filesystem of one MiB."""
    directory = tmp_path / "small"
    directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "small", str(directory)], check=True)
    try:
        yield directory
    finally:
        subprocess.run(["umount", str(directory)], check=True)


def fill_up(directory: Path) -> Path:
    filler = directory / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            return filler


def test_a_full_evidence_store_stops_nothing_for_good(
    user: Cli, target: Path, tmp_path: Path, small_store: Path
) -> None:
    profile = tmp_path / "mine.fio"
    profile.write_text(WRITE_THEN_READ.format(seconds=6))
    stores = ["--evidence-url", small_store.as_uri()]
    process = user.start("run", "--path", str(target), "--profile", str(profile), *stores)
    assert process.stderr is not None
    for line in process.stderr:
        if "step 2 of 2" in line:
            break
    filler = fill_up(small_store)
    _, err = process.communicate(timeout=240)
    assert process.returncode == 2
    assert "No space left" in err
    assert "diskbench resume" in err
    assert list(target.iterdir()) != []  # what fio left is still there

    filler.unlink()
    done = user.run("resume", "--quiet", "--output", "json", *stores)
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert run["state"] == "done"
    assert [r["step"] for r in merged_rows(run)] == ["write", "read"]
    assert list(target.iterdir()) == []


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
