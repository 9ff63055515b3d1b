"""Averaged logs are read and rated in batches of jobs: how many makes no difference."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pytest

from diskbench.store import log_windows
from diskbench.store.series import write_series


def logs_of(folder: Path, *, jobs: int, seconds: int) -> list[Path]:
    """Logs of `jobs` jobs with two directions, gaps and two rows in one second."""
    chance = random.Random(3)
    paths = []
    for job in range(1, jobs + 1):
        times = [1000 * n + 1 for n in range(1, seconds + 1) if (n + job) % 17 > 1] + [1500]
        for kind in ("iops", "bw", "clat"):
            path = folder / f"fio_{kind}.{job}.log"
            path.write_text(
                "".join(
                    f"{time}, {chance.randrange(1, 10_000)}, {way}, 0, 0\n"
                    for time in sorted(times)
                    for way in (0, 1)
                )
            )
            paths.append(path)
    return paths


def series(paths: list[Path], target: Path) -> list[tuple[object, ...]]:
    write_series(paths, target)
    with duckdb.connect() as db:
        found = db.read_parquet(str(target)).order("second, direction")
        return found.fetchall()


def test_batches_of_one_job_give_what_one_batch_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = logs_of(tmp_path, jobs=5, seconds=60)
    once = series(paths, tmp_path / "once.parquet")

    monkeypatch.setattr(log_windows, "_BATCH_BYTES", 1)
    monkeypatch.setattr(log_windows, "_BATCH_WINDOWS", 1)
    batches = series(paths, tmp_path / "batches.parquet")

    assert len(once) == len(batches) > 100
    for one, other in zip(once, batches, strict=True):
        assert one == pytest.approx(other), (one, other)
