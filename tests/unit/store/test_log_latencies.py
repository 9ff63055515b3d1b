"""Logs as fio writes them: latencies by second and bucket, and the seconds that fio did not log."""

import hashlib
import json
import random
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import cast

import duckdb
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rigs.database import taken_in
from tests.rigs.fio_reports import bucket_index
from tests.rigs.measured import TIMES
from tests.rigs.plans import RUN_IDS, make_plan, make_step, run_fio
from tests.unit.store.conftest import histogram_line, series_rows

from diskbench.errors import EvidenceDamaged, FioFailed, FioOutputUnreadable
from diskbench.fio.histogram import bucket_middle_ns
from diskbench.fio.output import parse_output
from diskbench.fio.reported import Total
from diskbench.fio.rows import measurements
from diskbench.store.evidence import open_evidence
from diskbench.store.frames import series_frame
from diskbench.store.log_counts import BUCKETS_A_DOUBLING, write_latencies
from diskbench.store.parse_step import PARSED_FILES, PARSER_VERSION, step_result
from diskbench.store.series import write_series
from diskbench.store.stored_series import latency_seconds


def counted(folder, zero_ms=0):
    target = folder / "out.parquet"
    write_latencies(sorted(folder.glob("*.log")), target, zero_ms=zero_ms)
    return pl.read_parquet(target)


def test_a_histogram_row_belongs_to_the_second_before_its_time_and_a_damaged_log_is_named(tmp_path):
    (tmp_path / "fio_clat_hist.1.log").write_text(
        histogram_line(1000, 0, [100_000] * 3) + histogram_line(2001, 1, [5_000_000])
    )
    found = counted(tmp_path)
    assert found.select("second", "direction", "count").rows() == [(0, "read", 3), (1, "write", 1)]
    (tmp_path / "fio_clat_hist.1.log").write_text("1000, 0, 4096, x, 1\n2000, 0, 4096, 1, 1\n")
    with pytest.raises(FioOutputUnreadable):
        counted(tmp_path)


def test_a_window_in_which_fio_began_its_counts_anew_is_passed_over(tmp_path):
    """fio writes what it counted since the window before, which is below 0 after latency_target
    has cleared its counts: 2^64 - 3."""
    anew = histogram_line(2000, 0, [100_000] * 3).replace(" 0, 0, 0,", f" 0, {2**64 - 3}, 0,", 1)
    (tmp_path / "fio_clat_hist.1.log").write_text(histogram_line(1000, 0, [100_000] * 2) + anew)
    assert counted(tmp_path).select("second", "count").rows() == [(0, 2)]


def test_jobs_of_a_step_are_summed_and_unix_times_begin_with_the_series(tmp_path):
    zero = 1_700_000_000_000
    for job in (1, 2):
        log = tmp_path / f"fio_clat_hist.{job}.log"
        log.write_text(histogram_line(zero + 5003, 0, [100_000] * 3))
    assert counted(tmp_path, zero).select("second", "count").rows() == [(4, 6)]


def test_a_log_of_single_ios_is_counted_as_well_and_averages_tell_nothing_of_them(tmp_path):
    (tmp_path / "fio_lat.1.log").write_text("1000, 90000, 0, 0, 0, 0\n2000, 90000, 0, 0, 0, 0\n")
    assert counted(tmp_path).height == 0
    (tmp_path / "fio_clat.1.log").write_text(
        "10, 91000, 0, 4096, 0, 0\n20, 92000, 0, 4096, 4096, 0\n1500, 7000000, 1, 4096, 0, 0\n"
    )
    found = counted(tmp_path)
    assert found.select("second", "direction", "count").rows() == [(0, "read", 2), (1, "write", 1)]


@pytest.mark.slow
@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.integers(1, 2**34 - 1), min_size=1, max_size=60))
def test_every_io_lies_in_one_bucket_that_holds_its_latency(tmp_path, latencies):
    (tmp_path / "fio_clat_hist.1.log").write_text(histogram_line(1000, 0, latencies))
    found = counted(tmp_path)
    assert found["count"].sum() == len(latencies)
    middles = sorted(bucket_middle_ns(bucket_index(value)) for value in latencies)
    for low, high, count in found.select("from_ns", "to_ns", "count").rows():
        assert count == sum(low <= value < high for value in middles)
        assert low < 64 or high / low <= 1 + 1 / BUCKETS_A_DOUBLING + 1e-9


EDGES = st.one_of(
    st.integers(0, 2**34),
    st.builds(
        lambda octave, part, off: max(0, (8 + part) * 2**octave // 8 + off),
        st.integers(6, 36),
        st.integers(0, 7),
        st.sampled_from([-1, 0, 1]),
    ),
)


@pytest.mark.slow
@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(EDGES, st.integers(0, 1)), min_size=1, max_size=60))
def test_every_single_io_lies_in_the_bucket_that_holds_its_latency(tmp_path, ios):
    rows = [f"{50 * n}, {value}, {way}, 4096, 0, 0\n" for n, (value, way) in enumerate(ios, 1)]
    (tmp_path / "fio_lat.1.log").write_text("".join(rows))
    found = counted(tmp_path).group_by("direction", "from_ns", "to_ns").agg(pl.col("count").sum())
    assert found["count"].sum() == len(ios)
    for direction, low, high, count in found.rows():
        way = ("read", "write").index(direction)
        is_last = high == 2**36
        assert count == sum(
            of == way and low <= value and (value < high or is_last) for value, of in ios
        )


def test_quantiles_beyond_two_seconds_are_those_of_the_log(tmp_path):
    slow = [1_000_000 * n + 7 for n in range(1, 4001)]  # to 4 s: more than 32 bits hold
    rows = [f"{n // 8}, {value}, 0, 4096, 0, 0\n" for n, value in enumerate(slow)]
    found = series_rows(tmp_path, {"fio_lat.1.log": "".join(rows)})[0]
    assert [found[name] for name in ("p50_ns", "p95_ns", "p99_ns", "lat_max_ns")] == [
        slow[1999], slow[3799], slow[3959], slow[3999],
    ]  # fmt: skip


def test_counts_are_kept_beside_the_evidence_and_read_from_there(tmp_path):
    histogram = histogram_line(1000, 0, [100_000] * 3) + histogram_line(2000, 0, [100_000])
    rates = "1000, 3, 0, 0, 0, 0\n2000, 1, 0, 0, 0, 0\n"
    evidence, run_id = imported(tmp_path, iops=rates, clat_hist=histogram)
    first = latency_seconds(evidence, run_id)
    assert first.select("step", "second", "count").rows() == [("disk", 0, 3), ("disk", 1, 1)]
    for key in evidence.list("runs"):
        if ".log" in key:
            (tmp_path / "evidence" / key).unlink()
    assert latency_seconds(evidence, run_id).equals(first)


def imported(tmp_path, **logs: str):
    """A store with one run that has these logs, and the run's id."""
    evidence = open_evidence((tmp_path / "evidence").as_uri())
    place = tmp_path / "logs"
    place.mkdir()
    for name, text in logs.items():
        (place / f"disk_{name}.1.log").write_text(text)
    [run_id] = taken_in(evidence, place)
    return evidence, run_id


def test_only_logs_of_latencies_are_read(tmp_path):
    evidence, run_id = imported(
        tmp_path,
        iops="1000, 3, 0, 0, 0, 0\n2000, 1, 0, 0, 0, 0\n",
        clat="1000, 90000, 0, 0, 0, 0\n2000, 90000, 0, 0, 0, 0\n",
        clat_hist=histogram_line(1000, 0, [100_000] * 3),
    )
    series_frame(evidence, run_id)
    for key in evidence.list("runs"):
        if "_iops." in key:
            (tmp_path / "evidence" / key).unlink()
    assert latency_seconds(evidence, run_id)["count"].to_list() == [3]


def test_a_step_too_short_for_a_histogram_is_counted_by_its_single_ios(tmp_path):
    single = "100, 90000, 0, 4096, 0, 0\n200, 90000, 0, 4096, 0, 0\n"
    evidence, run_id = imported(tmp_path, clat=single, clat_hist="")
    assert latency_seconds(evidence, run_id)["count"].sum() == 2


CASES = Path(__file__).parents[2] / "cases" / "fio_output"


def parse(step, files):
    return step_result(step, RUN_IDS[0], files, make_plan().facts, **TIMES)


def test_a_real_step_has_rows_for_the_job_and_for_the_step(fio_files):
    step, files = fio_files[1]
    result = parse(step, files)
    found = [(m.scope, m.direction) for m in result.measurements]
    assert found == [("job", "read"), ("step", "read")]
    assert result.measurements[0].ios == 64
    assert result.fio_version.startswith("fio-3.")
    assert result.seconds_in_fio > 0


def test_files_that_are_not_parsed_change_nothing_and_what_cannot_be_read_is_named(fio_files):
    step, files = fio_files[0]
    needed = {name: data for name, data in files.items() if name in PARSED_FILES}
    assert parse(step, needed) == parse(step, files)
    with pytest.raises(EvidenceDamaged, match=r"fio\.exit of step 'write' holds 'killed'"):
        parse(step, files | {"fio.exit": b"killed"})
    with pytest.raises(FioOutputUnreadable, match=r"write/fio\.json"):
        parse(step, files | {"fio.json": b"no document"})
    assert parse(step, files | {"samples.txt": b""}).measurements


def test_what_fio_said_is_in_the_error_when_it_fails(tmp_path):
    step = make_step(rw="sideways")
    with pytest.raises(FioFailed, match=r"step 'write'(?s:.*)sideways"):
        parse(step, run_fio(tmp_path, step))


@pytest.mark.parametrize("name", ["fio.exit", "fio.json"])
def test_a_missing_file_is_named(fio_files, name):
    step, files = fio_files[0]
    with pytest.raises(EvidenceDamaged, match=f"left no {name}"):
        parse(step, {k: v for k, v in files.items() if k != name})


ROWS_OF_VERSION = {6: "0b4f610a4a1f5a27"}
"""Parser version → digest of the rows that it makes of kept outputs of fio."""


def test_whoever_changes_the_rows_of_the_same_files_raises_the_parser_version():
    digest = hashlib.sha256()
    for path in sorted(CASES.glob("v*-*.out")):
        if "error" in json.loads(path.with_suffix(".json").read_text()):
            continue
        output = parse_output(path.read_bytes(), where=path.name)
        for row in measurements(output, run_id="01run", step=make_step(0, "a", "rw")):
            values = row.model_dump(exclude_defaults=True)
            shown = {k: f"{v:.9g}" if isinstance(v, float) else v for k, v in values.items()}
            digest.update(json.dumps(shown, sort_keys=True).encode())
    assert ROWS_OF_VERSION[PARSER_VERSION] == digest.hexdigest()[:16], (
        "the same files give other rows: raise PARSER_VERSION, and write the new digest here"
    )


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


def test_a_second_of_the_bw_log_alone_has_the_ios_of_its_bytes_and_a_sliver_is_no_second():
    logs = {"a_iops.1.log": windows(9, 3_000), "a_bw.1.log": [*windows(9, 12_000), (10_000, 400)]}
    rows = rows_of(logs, Total(ios=30_000, bytes=30_000 * 4096, runtime_s=10.0))
    assert rows[-1]["bytes_per_s"] == 400 * 1024
    assert rows[-1]["iops"] == pytest.approx(100)
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
