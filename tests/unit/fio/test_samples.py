"""What is recorded each second beside fio; histograms, whose merging loses nothing."""

import json
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.fio_reports import bucket_index
from tests.rigs.plans import SAMPLES, call_fio

from diskbench.errors import FioOutputUnreadable
from diskbench.fio import histogram as buckets
from diskbench.fio.histogram import bucket_middle_ns, count, merge, value_at
from diskbench.fio.logs import layout, log_name
from diskbench.fio.output import parse_output
from diskbench.fio.samples import LiveTotals, Total, parse_live, parse_samples, tick


def test_samples_are_summed_from_the_first_to_the_last():
    found = parse_samples(SAMPLES)
    assert found.busiest_core == pytest.approx(1 - 50 / 1000)
    assert found.steal == pytest.approx(50 / 1000)
    assert (found.device_read_ios, found.device_write_ios) == (100, 200)
    assert (found.device_read_bytes, found.device_write_bytes) == (800 * 512, 1600 * 512)


@pytest.mark.parametrize("data", [b"", b"@ 1\n", SAMPLES[: SAMPLES.index(b"@ 1010")]])
def test_one_sample_tells_nothing(data):
    assert parse_samples(data) is None


def test_the_busiest_core_is_no_mean_and_a_cut_sample_costs_no_more_than_itself():
    data = (
        b"@ 1\ncpu 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n"
        b"@ 2\ncpu 100 0 0 100 0 0 0 0\ncpu0 100 0 0 0 0 0 0 0\ncpu1 0 0 0 100 0 0 0 0\n"
    )
    found = parse_samples(data)
    assert (found.busiest_core, found.device_read_ios) == (1.0, None)
    assert parse_samples(SAMPLES + b"@ 1011.5\ncpu  950 0 2").device_read_ios == 100


@given(st.binary(max_size=400), st.integers(0, len(SAMPLES)))
def test_any_bytes_give_a_summary_or_none(garbage, at):
    parse_samples(SAMPLES[:at] + garbage + SAMPLES[at:])


LINE = b"1795261923.481\t0.814\t100\t409600\t5000000\t100\t50\t204800\t1000000\t50\t0\t0\t0\t0"


def test_a_line_gives_totals_by_direction():
    reads, writes = Total(100, 409600, 5_000_000, 100), Total(50, 204800, 1_000_000, 50)
    assert parse_live(LINE) == LiveTotals(1795261923.481, 0.814, reads, writes, Total())


@pytest.mark.parametrize(
    "line",
    [b"", b"#", b"= exit 0", LINE[:-3], LINE + b"\t1", LINE.replace(b"100", b"x"), b"\xff" * 20,
     LINE.replace(b"409600", b"nan"), LINE.replace(b"409600", b"-1"),
     *(b"\t".join([no_disk] * 14) for no_disk in (b"1e400", b"1e308", b"1e31", b"nan", b"-1"))],
)  # fmt: skip
def test_anything_else_gives_nothing(line):
    assert parse_live(line) is None


@given(st.lists(st.text("0123456789.eE+-naifx", max_size=9), min_size=14, max_size=14))
def test_what_is_parsed_is_finite_and_not_negative(fields):
    live = parse_live("\t".join(fields).encode())
    if live is not None:
        assert math.isfinite(live.read.ios)
        assert live.unix_s >= 0


def live(at, runtime, ios, writes=0.0, *, latencies=0.0):
    return LiveTotals(at, runtime, Total(ios, 0, latencies, latencies), Total(writes))


@pytest.mark.parametrize(
    ("before", "now", "rate"),
    [
        (None, live(100.0, 2.0, 400), 200.0),  # the first counts from the start of the job
        (live(100.0, 5.0, 5000), live(101.0, 1.0, 100), 100.0),  # counts start again after a ramp
        # Those of one job of two do: the other writes on, so the sum may grow.
        (live(100.0, 1.8, 697, 74), live(101.2, 3.0, 553, 226), 553 / 3),
        # The part of a second in which a step or a ramp ends has no rate.
        (live(101.787, 2.787, 2808), live(102.054, 3.006, 3521), None),
        (live(100.0, 5.0, 5000), live(100.2, 0.2, 100), None),
    ],
)
def test_a_rate_is_of_the_time_since_what_was_counted_before(before, now, rate):
    found = tick(before, now)
    assert found is None if rate is None else found.read_iops == pytest.approx(rate)


def test_rates_and_latencies_are_of_what_was_done_between_two_documents():
    before = LiveTotals(100.0, 1.0, Total(100, 1000, 1e6, 100), Total(10, 100, 1e5, 10))
    now = LiveTotals(102.0, 3.0, Total(300, 5000, 3e6, 300), Total(10, 100, 1e5, 10))
    made = tick(before, now)
    assert (made.elapsed_s, made.read_iops, made.write_iops) == (3.0, 100.0, 0.0)
    assert made.read_bytes_per_s == 2000.0
    before = LiveTotals(100.0, 1.0, Total(1000, 0, 1000 * 50e3, 1000))
    now = LiveTotals(101.0, 2.0, Total(1010, 0, 1000 * 50e3 + 10 * 900e3, 1010))
    assert tick(before, now).latency_ns == pytest.approx(900e3)
    assert tick(live(100, 1, 5, latencies=5), live(101, 2, 5, latencies=5)).latency_ns is None


@pytest.mark.parametrize("moved", [-7200.0, 7200.0])
def test_a_clock_that_is_moved_changes_no_rate(moved):
    before = LiveTotals(9000.0, 1.0, Total(100, 1000, 1e6, 100))
    now = LiveTotals(9001.0 + moved, 2.0, Total(300, 5000, 3e6, 300))
    assert tick(before, now).read_iops == 200.0


@given(
    st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e15)), min_size=2, max_size=5),
    st.floats(0, 2e9),
)
def test_a_tick_is_never_negative(pairs, start):
    totals = [Total(ios, size, size, ios) for ios, size in pairs]
    points = [LiveTotals(start + i, float(i), total) for i, total in enumerate(totals)]
    for before, now in pairwise(points):
        made = tick(before, now)
        assert made.read_iops >= 0
        assert made.read_bytes_per_s >= 0


# --- fio's logs


@pytest.mark.parametrize(
    ("name", "prefix", "kind", "job"),
    [
        ("fio_bw.1.log", "fio", "bw", 1), ("fio_clat_hist.12.log", "fio", "hist", 12),
        ("my_run_lat.3.log.zst", "my_run", "lat", 3), ("x_iops.log", "x", "iops", 0),
        ("lat.log", "", "lat", 0), ("a_slat.1.log", "a", "slat", 1),
    ],
)  # fmt: skip
def test_a_log_is_known_by_its_name(name, prefix, kind, job):
    found = log_name(name)
    assert (found.prefix, found.kind, found.job) == (prefix, kind, job)


@pytest.mark.parametrize("name", ["fio.json", "fio_bw.1.txt", "syslog.log", "flat.log", "x.log"])
def test_other_files_are_no_logs(name):
    assert log_name(name) is None


@pytest.mark.parametrize(
    ("line", "columns", "has_maximum", "averaged", "epoch"),
    [
        (b"0, 295261, 1, 4096", 4, False, False, False),
        (b"3, 295261, 0, 4096, 0", 5, False, False, False),
        (b"0, 295261, 0, 4096, 61440, 0", 6, False, False, False),
        (b"0, 279499, 0, 4096, 1024000, 0x0000, 138825", 7, False, False, False),
        (b"1000, 121055, 1, 0, 0", 5, False, True, False),
        (b"1795260050099, 122159, 0, 0, 0", 5, False, True, True),
        (b"1795260662330, 48635, 302267, 0, 0, 0", 6, True, True, True),
        (b"500, 17074, 17074, 1, 0, 0", 6, True, True, False),
    ],
)
def test_the_layout_follows_from_the_rows(line, columns, has_maximum, averaged, epoch):
    found = layout(line + b"\n" + line + b"\n" + line[:4], where="x.log")
    assert found.columns == columns == len(found.names)
    assert (found.has_maximum, found.averaged, found.epoch) == (has_maximum, averaged, epoch)


def test_an_iops_log_of_more_than_one_is_of_windows_and_an_empty_one_has_no_layout():
    windows, single = b"1000, 2903, 1, 4096, 0\n", b"1000, 1, 1, 4096, 0\n"
    assert layout(windows, where="x", kind="iops").averaged
    assert not layout(single, where="x", kind="iops").averaged
    assert not layout(windows, where="x", kind="bw").averaged
    assert layout(b"", where="x.log") is None
    assert layout(b"\n", where="x.log") is None


@pytest.mark.parametrize(
    "text", [b"hello, world, a, b\n", b"1, 2\n", b"1, 2, 7, 9, 0\n", b"1,2,0,0\n1,2\n"]
)
def test_no_log_is_named_with_its_line(text):
    with pytest.raises(FioOutputUnreadable, match=r"x\.log"):
        layout(text, where="x.log")


@given(st.binary(max_size=100))
def test_any_bytes_give_a_layout_or_a_clear_error(data):
    error = None
    try:
        layout(data, where="x.log")
    except FioOutputUnreadable as unreadable:
        error = unreadable
    assert error is None or error.message.startswith("x.log: ")


LATENCIES = st.integers(0, 2**33)
HISTOGRAMS = st.dictionaries(LATENCIES, st.integers(1, 10**9), max_size=12)


@given(HISTOGRAMS, HISTOGRAMS, HISTOGRAMS)
def test_merging_is_associative_and_commutative_and_keeps_every_count(a, b, c):
    assert merge([merge([a, b]), c]) == merge([a, merge([b, c])]) == merge([c, b, a])
    assert count(merge([a, b, c])) == count(a) + count(b) + count(c)


@given(LATENCIES)
def test_a_bucket_is_off_by_at_most_one_part_in_128(latency):
    assert abs(bucket_middle_ns(bucket_index(latency)) - latency) <= latency / 128


@given(st.lists(LATENCIES, min_size=1, max_size=300), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_a_quantile_is_within_one_part_in_128_of_the_sample(latencies, fraction):
    histogram = merge({bucket_middle_ns(bucket_index(v)): 1} for v in latencies)
    exact = sorted(latencies)[math.ceil(fraction * len(latencies) - 1e-9) - 1]
    found = value_at(histogram, fraction)
    assert found is not None
    assert abs(found - exact) <= exact / 128


@given(st.lists(HISTOGRAMS, min_size=1, max_size=4), st.floats(0.01, 1))
def test_a_merged_quantile_is_the_quantile_of_the_union(histograms, fraction):
    union = sorted(ns for one in histograms for ns, n in one.items() for _ in range(min(n, 5)))
    small = [{value: min(n, 5) for value, n in one.items()} for one in histograms]
    found = value_at(merge(small), fraction)
    if not union:
        assert found is None
    else:
        assert found == union[max(math.ceil(fraction * len(union) * (1 - 1e-9)), 1) - 1]


def test_coarse_columns_lie_in_the_middle_of_what_they_hold_and_nothing_has_no_quantile():
    fine = [bucket_middle_ns(index) for index in range(512, 520)]
    assert fine[0] < bucket_middle_ns(64, coarseness=3) < fine[-1]
    assert value_at({}, 0.5) is None


@pytest.mark.parametrize(
    ("fraction", "ios"), [(0.5, 5), (0.95, 59), (0.99, 299), (0.999, 2995), (0.9999, 29956)]
)
def test_a_quantile_is_printed_from_the_number_of_ios_that_backs_it(fraction, ios):
    assert buckets.needed(fraction) == ios
    assert buckets.quantile({1000: ios}, fraction) == 1000
    assert buckets.quantile({1000: ios - 1}, fraction) is None


@pytest.mark.slow
def test_quantiles_are_those_that_fio_prints(tmp_path):
    wanted = (50, 90, 95, 99, 99.9)
    job = (
        f"[global]\nfilename=disk.bin\nsize=4m\nbs=4k\nrw=randrw\nnumjobs=2\nruntime=1\ntime_based\n"
        f"percentile_list={':'.join(map(str, wanted))}\nlat_percentiles=1\n[a]\n"
    )
    outputs = []
    for text in (job, job.replace("[a]", "group_reporting\n[a]")):
        (tmp_path / "job.fio").write_text(text)
        outputs.append(call_fio("--output-format=json+", "job.fio", at=tmp_path).stdout)
    for data in outputs:
        for job in parse_output(data, where="x").jobs:
            for direction in ("read", "write"):
                for latency in (job.directions[direction].lat, job.directions[direction].clat):
                    assert count(latency.bins) == latency.samples
                    for percent in wanted:
                        assert value_at(latency.bins, percent / 100) == latency.percentiles[percent]
                    total = sum(value * ios for value, ios in latency.bins.items())
                    mean_ns = total / count(latency.bins)
                    assert mean_ns == pytest.approx(latency.mean_ns, rel=1 / 128)
    # A group that fio merged itself: our merge of its members cannot be told from it.
    entries = json.loads(outputs[0])["jobs"]
    merged = buckets.step_histograms(parse_output(outputs[0], where="x"), "read")["clat"]
    assert count(merged) == sum(entry["read"]["clat_ns"]["N"] for entry in entries)
