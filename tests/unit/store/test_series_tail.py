"""The seconds that fio did not log: never faster than the log and the bytes of that second say."""

import random
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import cast

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.store.conftest import series_rows

from diskbench.fio.reported import Total
from diskbench.store.series import write_series


def rows_of(logs, total):
    """The seconds that `logs` (name → rows of time, value) and the total of the JSON make."""
    texts = {
        name: "".join(f"{time}, {value}, 0, 0, 0\n" for time, value in windows)
        for name, windows in sorted(logs.items())
    }
    with tempfile.TemporaryDirectory() as place:
        return series_rows(Path(place), texts, {"read": total})


def windows(seconds, rate):
    return [(1000 * second, rate) for second in range(1, seconds + 1)]


@pytest.mark.slow
def test_the_last_second_of_a_day_has_no_rounding_of_a_day():
    seconds, rate = 86_400, 3_000
    logs = {
        "d_iops.1.log": [*windows(seconds - 2, rate), (1000 * (seconds - 1), 3_052)],
        "d_bw.1.log": windows(seconds - 1, rate * 4),
    }
    ios = rate * seconds + 749_918  # what fio rounded off each second, 8.7 I/Os
    rows = rows_of(logs, Total(ios=ios, bytes=ios * 4096, runtime_s=float(seconds)))
    assert len(rows) == seconds
    assert max(row["iops"] for row in rows) == 3_052
    assert rows[-1]["iops"] == pytest.approx(rate, rel=0.02)
    assert rows[-1]["bytes_per_s"] == pytest.approx(rate * 4096)


def test_a_kind_without_a_log_or_with_windows_lost_does_not_pile_up_at_the_end():
    total = Total(ios=300_000, bytes=300_000 * 4096, runtime_s=100.0)
    only_iops = rows_of({"a_iops.1.log": windows(99, 3_000)}, total)
    assert only_iops[-1]["iops"] == pytest.approx(3_000)
    assert {row["bytes_per_s"] for row in only_iops} == {None}
    only_bw = rows_of({"a_bw.1.log": windows(99, 12_000)}, total)
    assert only_bw[-1]["bytes_per_s"] == pytest.approx(3_000 * 4096)
    assert {row["iops"] for row in only_bw} == {None}
    kept = [one for one in windows(99, 3_000) if not 40_000 < one[0] <= 50_000]
    rows = rows_of({"a_iops.1.log": kept, "a_bw.1.log": [(t, v * 4) for t, v in kept]}, total)
    assert rows[-1]["iops"] == pytest.approx(3_000)


def test_a_second_that_only_the_bw_log_has_holds_the_ios_of_its_bytes():
    logs = {"a_iops.1.log": windows(9, 3_000), "a_bw.1.log": [*windows(9, 12_000), (10_000, 400)]}
    rows = rows_of(logs, Total(ios=30_000, bytes=30_000 * 4096, runtime_s=10.0))
    assert rows[-1]["bytes_per_s"] == 400 * 1024
    assert rows[-1]["iops"] == pytest.approx(100)


def test_a_sliver_after_a_missing_half_second_is_no_second():
    logs = {"a_iops.1.log": [(500, 500), (1000, 500), (1500, 500)]}
    rows = rows_of(logs, Total(ios=1_010, bytes=1_010 * 4096, runtime_s=2.003))
    assert [row["iops"] for row in rows] == [500, 500]


rate = st.integers(min_value=0, max_value=5_000)
job = st.lists(rate, min_size=1, max_size=6)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    iops=st.lists(job, min_size=0, max_size=3),
    kib=st.lists(job, min_size=0, max_size=3),
    missing=st.integers(min_value=0, max_value=10_000_000),
    block=st.sampled_from([512, 4096, 65_536]),
    tail_ms=st.integers(min_value=0, max_value=3_500),
)
def test_no_filled_second_exceeds_its_log_or_its_bytes(iops, kib, missing, block, tail_ms):
    """Whatever the logs and the totals are: each job's log is shorter or longer by itself."""
    logs = {
        f"x_{kind}.{number}.log": [(1000 * at, value) for at, value in enumerate(values, 1)]
        for kind, jobs in (("iops", iops), ("bw", kib))
        for number, values in enumerate(jobs, 1)
    }
    longest = max((len(values) for values in (*iops, *kib)), default=1)
    ios = sum(map(sum, iops)) + missing
    rows = rows_of(logs, Total(ios=ios, bytes=ios * block, runtime_s=longest + tail_ms / 1000))
    highest_ios = sum(max(values) for values in iops)
    highest_bytes = sum(max(values) * 1024 for values in kib)
    logged_s = max((len(values) for values in iops), default=0)
    for row in rows:
        assert (row["iops"] is None) == (not iops)
        assert (row["bytes_per_s"] is None) == (not kib)
        if iops:
            assert row["iops"] <= highest_ios * (1 + 1e-9)
        if kib:
            assert row["bytes_per_s"] <= highest_bytes * (1 + 1e-9)
        both = len(iops) == len(kib)  # every job has both logs
        if iops and both and row["second"] >= logged_s:
            assert row["iops"] * block <= row["bytes_per_s"] * (1 + 1e-9) + 1e-6


# Averaged logs are read and rated job by job: in which order makes no difference.


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
        return db.read_parquet(str(target)).order("second, direction").fetchall()


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
