"""Averaged logs are read and rated job by job: in which order makes no difference."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from typing import cast

import duckdb
import pytest

from diskbench.store.series import write_series


def logs_of(folder: Path, *, jobs: int, seconds: int) -> list[Path]:
    """Logs of `jobs` jobs with two directions, gaps and two windows in one second."""
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


def test_the_series_of_several_jobs_is_the_sum_of_the_series_of_each(tmp_path: Path) -> None:
    paths = logs_of(tmp_path, jobs=5, seconds=60)
    together = series(paths, tmp_path / "together.parquet")

    rates: dict[tuple[object, object], float] = defaultdict(float)
    for job in range(1, 6):
        own = [path for path in paths if path.name.endswith(f".{job}.log")]
        for second, direction, _, iops, *_ in series(own, tmp_path / "own.parquet"):
            rates[second, direction] += cast("float", iops)

    assert len(together) == len(rates) > 100
    for second, direction, _, iops, *_ in together:
        assert iops == pytest.approx(rates[second, direction]), (second, direction)


def test_neither_the_order_of_rows_nor_that_of_files_matters(tmp_path: Path) -> None:
    paths = logs_of(tmp_path, jobs=3, seconds=60)
    once = series(paths, tmp_path / "once.parquet")

    for path in paths:
        rows = path.read_text().splitlines(keepends=True)
        random.Random(4).shuffle(rows)
        path.write_text("".join(rows))
    again = series(paths[::-1], tmp_path / "again.parquet")

    assert len(once) == len(again) > 100
    for one, other in zip(once, again, strict=True):
        assert one == pytest.approx(other), (one, other)
