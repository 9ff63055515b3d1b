"""Latencies by second and bucket, from logs as fio writes them."""

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rigs.fio_reports import bucket_index
from tests.rigs.taken_in import taken_in
from tests.unit.store.conftest import histogram_line, series_rows

from diskbench.errors import FioOutputUnreadable
from diskbench.fio.histogram import bucket_middle_ns
from diskbench.store.evidence import open_evidence
from diskbench.store.frames import series_frame
from diskbench.store.log_counts import BUCKETS_A_DOUBLING, write_latencies
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
