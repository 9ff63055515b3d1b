"""fio's logs as a row a second: hand-made logs with known answers, and fio's own."""

import json
import statistics
import subprocess

import pytest
from tests.unit.store.conftest import histogram_line, parquet_rows, series_rows

from diskbench.analysis.phases import step_phases
from diskbench.errors import FioOutputUnreadable
from diskbench.fio.reported import Total
from diskbench.packed import pack
from diskbench.store.series import write_series


def column(rows, name, direction="read"):
    return [row[name] for row in rows if row["direction"] == direction]


def lines(rows, tail=", 0"):
    return "".join(", ".join(map(str, row)) + tail + "\n" for row in rows)


def test_single_ios_are_counted_and_every_empty_second_is_zero(tmp_path):
    ios = [(100 + i, 1000 + i, 0, 4096) for i in range(400)]
    ios += [(3000 + i, 5000, 0, 8192) for i in range(999)]
    rows = series_rows(tmp_path, {"x_lat.1.log": lines(ios)})
    assert [row["second"] for row in rows] == [0, 1, 2, 3]
    assert column(rows, "iops") == pytest.approx([400, 0, 0, 1000], abs=1.1)
    assert column(rows, "bytes_per_s")[0] == 400 * 4096
    assert column(rows, "lat_mean_ns") == [pytest.approx(1199.5), None, None, 5000]
    assert column(rows, "p99_ns") == [1395, None, None, 5000]
    assert column(rows, "p99_9_ns") == [None] * 4  # fewer than 2,995 I/Os a second
    assert column(rows, "lat_max_ns") == [1399, None, None, 5000]


def test_jobs_and_directions_are_summed_apart_and_a_sliver_with_the_second_before(tmp_path):
    one = [(i * 2, 100, 0, 4096) for i in range(500)]
    two = [(i * 2, 300, 0, 4096) for i in range(500)] + [(999, 7, 1, 512)]
    rows = series_rows(tmp_path, {"x_lat.1.log": lines(one), "x_lat.2.log": lines(two)})
    assert column(rows, "iops") == pytest.approx([1000], rel=0.01)
    assert column(rows, "lat_mean_ns") == [200]
    assert column(rows, "iops", "write") == pytest.approx([1], rel=0.01)
    ios = [(i, 100, 0, 4096) for i in range(1000)] + [(1001, 100, 0, 4096)] * 8
    assert column(series_rows(tmp_path, {"x_lat.1.log": lines(ios)}), "iops") == pytest.approx(
        [1008 / 1.001]
    )


@pytest.mark.parametrize(
    "row",
    [
        "{t}, {v}, 0, 4096",
        "{t}, {v}, 0, 4096, 0",
        "{t}, {v}, 0, 4096, 61440, 0",
        "{t}, {v}, 0, 4096, 61440, 0x0000, 138825",
    ],
)
def test_all_layouts_of_single_ios_give_the_same(tmp_path, row):
    text = "".join(row.format(t=i, v=200) + "\n" for i in range(1000))
    rows = series_rows(tmp_path, {"x_lat.1.log": text})
    assert column(rows, "iops") == pytest.approx([1000], rel=0.01)
    assert column(rows, "lat_mean_ns") == [200]


def test_averaged_windows_end_at_their_time_and_jobs_add_up(tmp_path):
    logs = {
        "x_iops.1.log": lines([(1000, 100, 0, 0), (2001, 200, 0, 0), (4000, 50, 0, 0)]),
        "x_iops.2.log": lines([(1000, 300, 0, 0), (2000, 200, 0, 0), (4001, 50, 0, 0)]),
        "x_bw.1.log": lines([(1000, 400, 0, 0)]),
        "x_lat.1.log": lines([(1000, 1000, 0, 0), (2001, 2000, 0, 0)]),
        "x_lat.2.log": lines([(1000, 5000, 0, 0), (2000, 4000, 0, 0)]),
    }
    rows = series_rows(tmp_path, logs)
    assert column(rows, "iops") == [400, 400, 0, 100]
    assert column(rows, "bytes_per_s") == [400 * 1024, 0, 0, 0]
    # 100 I/Os of 1 µs and 300 of 5 µs; then as many of 2 µs as of 4 µs
    assert column(rows, "lat_mean_ns")[:2] == [pytest.approx(4000), pytest.approx(3000, rel=1e-2)]
    assert column(rows, "p50_ns") == [None] * 4


def test_windows_count_by_their_length_and_two_rows_of_one_time_do_not_double_the_rate(tmp_path):
    windows = [(500, 100, 0, 0), (1000, 300, 0, 0), (1500, 10, 0, 0), (2000, 30, 0, 0)]
    assert column(series_rows(tmp_path, {"x_iops.1.log": lines(windows)}), "iops") == [200, 20]
    windows = [(1000, 100, 0, 0), (2000, 100, 0, 0), (2000, 90, 0, 0), (3000, 100, 0, 0)]
    rows = series_rows(tmp_path, {"x_iops.1.log": lines(windows)})
    assert column(rows, "iops") == pytest.approx([100, 100, 100], rel=0.01)
    windows = [(5000, 100, 0, 0), (10000, 40, 0, 0), (15001, 40, 0, 0)]
    rows = series_rows(tmp_path, {"x_iops.1.log": lines(windows)})
    assert column(rows, "iops") == [100] * 5 + [40] * 10


def test_a_window_that_fio_does_not_log_is_what_its_json_counts_beyond_for_jobs_without(tmp_path):
    windows = [(1000, 100, 0, 0), (2000, 100, 0, 0)]
    logs = {"x_iops.1.log": lines(windows), "x_bw.1.log": lines(windows)}
    rows = series_rows(tmp_path, logs, {"read": Total(ios=260, bytes=260 * 1024, runtime_s=3.001)})
    assert column(rows, "iops") == pytest.approx([100, 100, 60], rel=0.01)
    assert column(rows, "bytes_per_s")[2] == pytest.approx(60 * 1024, rel=0.01)
    assert len(series_rows(tmp_path, logs, {"read": Total(200, 200 * 1024, runtime_s=2.0)})) == 2
    logs = {
        "x_iops.1.log": lines([(1000, 100, 0, 0), (2000, 100, 0, 0)]),
        "x_iops.2.log": lines([(1000, 100, 0, 0), (2000, 100, 0, 0), (3000, 90, 0, 0)]),
    }
    totals = {"read": Total(ios=560, bytes=0, runtime_s=3.0)}
    assert column(series_rows(tmp_path, logs, totals), "iops") == [200, 200, pytest.approx(160)]


@pytest.mark.parametrize(
    "rows",
    [
        [*((s * 1000, 3000, 0, 4096) for s in range(1, 90)), (99_999_999_999, 3000, 0, 4096)],
        [(1000, 3000, 0, 4096), (99_999_999_999, 3000, 0, 4096)],
        [*((s, 3000, 0, 4096) for s in range(1, 900)), (99_999_999_999, 3000, 0, 4096)],
    ],
    ids=["windows", "two windows", "single"],
)
def test_a_damaged_time_asks_for_no_years_of_seconds(tmp_path, rows):
    with pytest.raises(FioOutputUnreadable, match=r"span 1,157 days"):
        series_rows(tmp_path, {"x_iops.1.log": lines(rows)})


def test_unix_times_start_at_zero_and_keep_the_clock(tmp_path):
    start = 1_795_260_000_000
    windows = [(start + 1000, 100, 0, 0), (start + 2000, 200, 0, 0)]
    logs = {
        "x_iops.1.log": lines(windows),
        "x_clat_hist.1.log": histogram_line(start + 1001, 0, [5000] * 10)
        + histogram_line(start + 2001, 0, [9000] * 10),
    }
    rows = series_rows(tmp_path, logs)
    assert column(rows, "second") == [0, 1]
    assert column(rows, "unix_ms") == [start, start + 1000]
    assert column(rows, "p50_ns") == pytest.approx([5000, 9000], rel=1 / 128)


def test_the_maximum_of_a_window_is_kept_where_fio_logs_both(tmp_path):
    logs = {
        "x_iops.1.log": lines([(1000, 10, 10, 0, 0, 0), (2000, 10, 10, 0, 0, 0)]),
        "x_lat.1.log": lines([(1000, 500, 9000, 0, 0, 0), (2000, 500, 7000, 0, 0, 0)]),
    }
    assert column(series_rows(tmp_path, logs), "lat_max_ns") == [9000, 7000]


@pytest.mark.parametrize("coarseness", [0, 3, 6])
def test_histograms_of_jobs_are_summed_before_a_quantile_is_taken(tmp_path, coarseness):
    fast, slow = [10_000] * 990, [8_000_000] * 110
    logs = {
        "x_clat_hist.1.log": histogram_line(1000, 0, fast, coarseness),
        "x_clat_hist.2.log": histogram_line(1000, 0, slow, coarseness),
    }
    (row,) = series_rows(tmp_path, logs)
    width = 2**coarseness / 128
    assert row["p50_ns"] == pytest.approx(10_000, rel=width)
    assert row["p95_ns"] == pytest.approx(8_000_000, rel=width)
    assert row["lat_max_ns"] == pytest.approx(8_000_000, rel=width)
    assert row["p99_9_ns"] is None


def test_compressed_logs_are_read_as_they_are_and_none_at_all_are_an_empty_series(tmp_path):
    text = lines([(i, 200, 0, 4096) for i in range(1000)]).encode()
    packed = pack(text)
    plain = series_rows(tmp_path, {"x_lat.1.log": text})
    assert series_rows(tmp_path, {"x_lat.1.log.zst": packed}) == plain
    assert series_rows(tmp_path, {}) == []
    assert series_rows(tmp_path, {"x_slat.1.log": "", "notes.txt": "hello"}) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x_lat.1.log", "hello\n"),
        ("x_lat.1.log", "0, 1, 0, 4096, 0\n" * 2000 + "5, 1\n"),
        ("x_lat.1.log.zst", "no zstd"),
        ("x_clat_hist.1.log", "1000, 0, 4096, a, b\n"),
    ],
)
def test_a_damaged_log_is_a_clear_error(tmp_path, name, text):
    with pytest.raises(FioOutputUnreadable, match=r"_1|\.log|log file"):
        series_rows(tmp_path, {name: text})


REAL = (
    "[global]\nioengine=null\nsize=64m\nbs=4k\nrw=randrw\nruntime=3\ntime_based\nnumjobs=2\n"
    "write_lat_log=L\nwrite_iops_log=L\nwrite_bw_log=L\nwrite_hist_log=L\nlog_hist_msec=1000\n"
    "rate_iops=2000\n"
)


def real_run(tmp_path, extra=""):
    """What a real fio leaves: its logs, and its totals by direction."""
    (tmp_path / "job.fio").write_text(f"{REAL}{extra}[a]\n")
    argv = ["fio", "--output-format=json", "job.fio"]
    out = subprocess.run(
        argv, cwd=tmp_path, start_new_session=True, capture_output=True, check=True
    ).stdout
    jobs = json.loads(out)["jobs"]
    totals = {
        d: Total(
            sum(j[d]["total_ios"] for j in jobs),
            sum(j[d]["io_bytes"] for j in jobs),
            runtime_s=max(j[d]["runtime"] for j in jobs) / 1000,
        )
        for d in ("read", "write")
    }
    target = tmp_path / "series.parquet"
    write_series(sorted(tmp_path.glob("*.log")), target, totals=totals)
    return parquet_rows(target), totals


@pytest.mark.slow
def test_a_real_log_of_single_ios_is_counted_line_by_line(tmp_path):
    rows, _ = real_run(tmp_path)
    logged = [
        [int(cell, 0) for cell in line.split(", ")]
        for path in tmp_path.glob("L_lat.*.log")
        for line in path.read_text().splitlines()
    ]
    for number, direction in enumerate(("read", "write")):
        mine = [(time // 1000, value) for time, value, to, *_ in logged if to == number]
        # The last second has its own rule; test_a_sliver_of_a_second… pins it.
        for second, iops in list(enumerate(column(rows, "iops", direction)))[:-1]:
            assert iops == sum(at == second for at, _ in mine)
        first = [value for at, value in mine if at == 0]
        assert column(rows, "lat_mean_ns", direction)[0] == pytest.approx(statistics.fmean(first))


@pytest.mark.slow
def test_a_real_averaged_log_sums_up_to_fios_json(tmp_path):
    rows, totals = real_run(tmp_path, "log_avg_msec=1000\nlog_unix_epoch=1\n")
    for direction, total in totals.items():
        seconds = column(rows, "second", direction)
        assert seconds == list(range(len(seconds)))
        # On a busy machine fio's windows are late and cover a little more than their second.
        assert sum(column(rows, "iops", direction)) == pytest.approx(total.ios, rel=0.25)
        assert sum(column(rows, "bytes_per_s", direction)) == pytest.approx(total.bytes, rel=0.25)
        assert all(column(rows, "lat_mean_ns", direction)[:2])


# A window that fio logged late is no stall, and a stall is no late window.


AT = [s for s in range(1, 121) if s not in (50, 51, 52)]
"""Seconds with a row: that of second 53 comes three seconds after the one before it."""


def logs(latencies=(), at=AT):
    values = {"iops": (1000, at), "bw": (4000, at), "lat": (900_000, latencies)}
    return {
        f"x_{name}.1.log": lines([(s * 1000, value, 0, 0) for s in seconds])
        for name, (value, seconds) in values.items()
        if seconds
    }


def total(seconds):
    return seconds and {"read": Total(seconds * 1000, seconds * 4000 * 1024, runtime_s=120.0)}


def stalled(rows):
    import numpy as np

    found = np.array(column(rows, "iops"))
    return [(one.start_s, one.end_s) for one in step_phases(found, found * 4096).stalls]


def test_a_gap_or_a_late_first_row_stands_for_the_seconds_in_which_ios_completed(tmp_path):
    rows = series_rows(tmp_path, logs(latencies=range(1, 121)))
    assert column(rows, "iops") == [1000] * 120
    assert column(rows, "bytes_per_s") == [4000 * 1024] * 120
    assert stalled(rows) == []
    # fio's helper, kept from looking, begins the log of a busy machine some seconds late.
    rows = series_rows(tmp_path, logs(range(1, 121), range(4, 121)), total(120))
    assert column(rows, "iops") == [1000] * 120
    assert column(rows, "bytes_per_s") == [4000 * 1024] * 120
    late = range(4, 121)
    assert sum(column(series_rows(tmp_path, logs(late, late), total(117)), "iops")) == 117_000


def test_a_gap_in_which_none_did_is_a_stall_and_an_unlogged_tail_is_no_late_window(tmp_path):
    rows = series_rows(tmp_path, logs(latencies=AT), total(117))
    assert column(rows, "iops") == [1000] * 49 + [0] * 3 + [1000] * 68
    assert stalled(rows) == [(49, 52)]
    # Three seconds stalled, and fio left three out at the end: that does not make them I/O.
    assert stalled(series_rows(tmp_path, logs(at=AT[:-3]), total(117))) == [(49, 52)]


@pytest.mark.parametrize(("seconds", "found"), [(120, []), (117, [(49, 52)]), (None, [(49, 52)])])
def test_without_latencies_fios_counts_tell_and_without_them_is_a_stall(tmp_path, seconds, found):
    rows = series_rows(tmp_path, logs(), total(seconds))
    assert stalled(rows) == found
    assert sum(column(rows, "iops")) == pytest.approx((seconds or 117) * 1000, rel=0.01)


# Logs with numbers that no database holds, far behind their first lines.


@pytest.mark.parametrize("kind", ["lat", "bw", "iops"])
@pytest.mark.parametrize("block", [0, 4096])
@pytest.mark.parametrize("unix_ms", [0, 1_700_000_000_000])
def test_a_large_number_far_behind_is_told_in_words(tmp_path, kind, block, unix_ms):
    rows = [f"{unix_ms + n}, 1, 0, {block}" for n in range(50_000)]
    path = tmp_path / f"x_{kind}.1.log"
    path.write_text("\n".join([*rows, f"{'9' * 20}, 1, 0, {block}"]) + "\n")
    with pytest.raises(FioOutputUnreadable):
        write_series([path], tmp_path / "out.parquet")
