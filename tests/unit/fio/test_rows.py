"""Rows of a step: rates, merged latencies, what stands in a row when little is known, and syncs, of
which none is a short I/O."""

import json
import math
import statistics
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.fio_reports import bucket_index
from tests.rigs.plans import call_fio

from diskbench.fio.histogram import QUANTILES, bucket_middle_ns, merge, value_at
from diskbench.fio.output import parse_output
from diskbench.fio.reported import DirectionStats, FioJob, FioOutput, ReportedLatency, count_syncs
from diskbench.fio.rows import ALL_JOBS, measurements
from diskbench.fio.warnings import step_warnings
from diskbench.model.facts import HostFacts
from diskbench.model.spec import Step

CASES = Path(__file__).parents[2] / "cases" / "fio_output"
TWO_JOBS = """
[global]
size=1m
blocksize=4k   ; an alias
io_size=128k
readwrite=randrw:16
[a]
filename=disk.bin
[b]
filename=disk.bin
rw=write
bs=8k
fsync=4
"""


def step(job=TWO_JOBS):
    return Step(index=3, name="mix", round=2, job=job, expected_s=1)


def rows_of(name, job=TWO_JOBS):
    output = parse_output((CASES / f"{name}.out").read_bytes(), where=name)
    return output, measurements(output, run_id="01run", step=step(job))


def pick(rows, **wanted):
    found = [r for r in rows if all(getattr(r, k) == v for k, v in wanted.items())]
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize("fio", ["3.16", "3.25", "3.28", "3.33", "3.36", "3.39", "3.41", "3.42"])
def test_every_version_gives_the_same_rows(fio):
    _, rows = rows_of(f"v{fio}-two-jobs")
    assert [(r.scope, r.job, r.job_index, r.direction) for r in rows] == [
        ("job", "a", 0, "read"), ("job", "a", 0, "write"), ("job", "b", 1, "write"),
        ("job", "b", 1, "sync"), ("step", ALL_JOBS, -1, "read"), ("step", ALL_JOBS, -1, "write"),
        ("step", ALL_JOBS, -1, "sync"),
    ]  # fmt: skip
    assert {(r.run_id, r.step_index, r.step, r.round) for r in rows} == {("01run", 3, "mix", 2)}
    assert all(r.clat_samples == r.ios for r in rows)
    assert pick(rows, scope="step", direction="write").p50_ns is not None


def test_options_come_from_the_job_file_and_its_aliases_or_from_fio():
    _, rows = rows_of("v3.33-two-jobs")
    a = pick(rows, scope="job", job="a", direction="read")
    assert (a.rw, a.block_bytes, a.iodepth, a.jobs) == ("randrw", 4096, 1, 1)
    b = pick(rows, scope="job", job="b", direction="write")
    assert (b.rw, b.block_bytes) == ("write", 8192)
    merged = pick(rows, scope="step", direction="write")
    assert (merged.rw, merged.block_bytes, merged.jobs) == (None, None, 2)
    _, rows = rows_of("v3.33-two-jobs", job="")
    assert pick(rows, scope="job", job="b", direction="write").block_bytes == 8192
    assert pick(rows, scope="job", job="a", direction="read").rw == "randrw"
    _, rows = rows_of("v3.33-two-jobs", "[a]\nrw=randrw\nbs=4k,16k\n[b]\nrw=write\nbssplit=4k/50")
    assert pick(rows, scope="job", job="a", direction="read").block_bytes == 4096
    assert pick(rows, scope="job", job="a", direction="write").block_bytes == 16384
    assert pick(rows, scope="job", job="b", direction="write").block_bytes is None


def test_a_step_has_the_rate_over_the_longest_runtime_and_the_quantiles_of_the_sum():
    output, rows = rows_of("v3.33-two-jobs")
    parts = [job.directions["write"] for job in output.jobs]
    merged = pick(rows, scope="step", direction="write")
    longest = max(part.runtime_ns for part in parts)
    assert merged.runtime_ns == longest
    assert merged.iops == pytest.approx(sum(p.ios for p in parts) * 1e9 / longest)
    assert merged.bytes_per_s == pytest.approx(sum(p.bytes for p in parts) * 1e9 / longest)
    bins = merge(job.directions["write"].clat.bins for job in output.jobs)
    assert (merged.quantiles_of, merged.clat_samples) == ("clat", sum(bins.values()))
    assert merged.p50_ns == value_at(bins, 0.5)
    assert merged.p99_ns is None  # fewer than 299 I/Os


def test_a_group_counts_its_members_and_prefers_total_latency():
    output, rows = rows_of("v3.41-group")
    row = pick(rows, scope="job", job="a", direction="read")
    assert row.quantiles_of == "lat"
    assert row.p50_ns == value_at(output.jobs[0].directions["read"].lat.bins, 0.5)
    output, rows = rows_of("v3.41-group", job="[global]\ngroup_reporting\nnumjobs=2\n[a]\n[b]\n")
    job = output.jobs[0]
    wall_ms = max(s.runtime_ns for s in job.directions.values()) / 1e6
    row = pick(rows, scope="step", direction="write")
    assert row.jobs == max(round(job.run_ms / wall_ms), 1)
    assert row.cpu_user == pytest.approx(job.usr_cpu / 100 * job.run_ms / (row.runtime_ns / 1e6))


def test_syncs_have_a_row_of_their_own_and_plain_json_fios_percentiles_for_jobs_alone():
    output, rows = rows_of("v3.33-two-jobs")
    sync = output.jobs[1].directions["sync"]
    row = pick(rows, scope="step", direction="sync")
    assert (row.ios, row.bytes, row.jobs, row.lat_mean_ns) == (sync.ios, 0, 1, sync.lat.mean_ns)
    assert row.iops == pytest.approx(sync.ios * 1e9 / row.runtime_ns)
    _, rows = rows_of("v3.33-plain-json")
    assert pick(rows, scope="job", job="a", direction="read").p50_ns is not None
    assert pick(rows, scope="step", direction="write").p50_ns is None


def test_unified_reporting_gives_one_mixed_row():
    _, rows = rows_of("v3.33-unified", job="[m]\nrw=randrw\nbs=4k\n")
    assert pick(rows, scope="step", direction="mixed").ios == 16
    _, rows = rows_of("v3.33-unified-both", job="[m]\nrw=randrw\nbs=4k\n")
    assert {r.direction for r in rows} == {"read", "write"}


def test_a_job_that_did_nothing_has_zeros_and_untimed_ios_have_no_latency():
    _, rows = rows_of("v3.33-cannot-open", job="[none]\nrw=read\nbs=4k\n")
    row = pick(rows, scope="job", direction="read")
    assert (row.ios, row.iops, row.bytes_per_s, row.error) == (0, 0.0, 0.0, 20)
    assert (row.lat_mean_ns, row.p50_ns) == (None, None)
    _, rows = rows_of("v3.33-cannot-open", job="[another]\n")
    assert pick(rows, scope="job").direction == "read"
    _, rows = rows_of("v3.33-gtod-reduce", job="[null]\nrw=read\nbs=4k\n")
    row = pick(rows, scope="step", direction="read")
    assert (row.ios, row.lat_mean_ns, row.quantiles_of) == (16, None, None)


SAMPLES = st.lists(st.lists(st.floats(1, 1e9), min_size=1, max_size=30), min_size=1, max_size=4)


@given(SAMPLES)
def test_pooled_mean_and_deviation_are_those_of_all_samples_together(samples):
    row = pick(rows_of_jobs(map(fake_job, range(9), samples)), scope="step")
    together = [value for values in samples for value in values]
    assert row.lat_mean_ns == pytest.approx(statistics.fmean(together))
    wanted = statistics.stdev(together) if len(together) > 1 else 0.0
    assert row.lat_stddev_ns == pytest.approx(wanted, rel=1e-6, abs=1e-3)
    assert math.isfinite(row.iops)


def fake_job(index, values, *, kind="lat", bins=None):
    least, most, mean = int(min(values)), int(max(values)), statistics.fmean(values)
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    latency = ReportedLatency(len(values), least, most, mean, deviation, bins=bins or {})
    stats = DirectionStats(ios=len(values), bytes=4096, runtime_ns=10**9, **{kind: latency})
    return FioJob(f"j{index}", index, group=0, error=0, options={}, directions={"read": stats})


def rows_of_jobs(jobs):
    output = FioOutput(where="x", version="fio-3.33", jobs=tuple(jobs), options={})
    return measurements(output, run_id="r", step=step(job=""))


@given(
    st.lists(st.lists(st.integers(1, 10**11), min_size=1, max_size=400), min_size=1, max_size=3),
    st.sampled_from(["lat", "clat"]),
)
def test_no_quantile_lies_beyond_the_exact_extremes(jobs, kind):
    def binned(index, samples):
        bins = merge({bucket_middle_ns(bucket_index(ns)): 1} for ns in samples)
        return fake_job(index, samples, kind=kind, bins=bins)

    for row in rows_of_jobs(binned(index, samples * 10) for index, samples in enumerate(jobs)):
        low, high = getattr(row, f"{kind}_min_ns"), getattr(row, f"{kind}_max_ns")
        for name in QUANTILES:
            value = getattr(row, name)
            assert value is None or low <= value <= high


# --- Jobs that time nothing


def timed_by_fio(job, tmp_path):
    """The rows of a real run of fio."""
    (tmp_path / "job.fio").write_text(job)
    done = call_fio("--output-format=json+", "--lat_percentiles=1", "job.fio", at=tmp_path)
    output = parse_output(done.stdout, where="fio.json")
    return measurements(output, run_id="01run", step=step(job))


MIXED = """[global]
ioengine=psync
rw=read
filename=data
size=4m
bs=4k
lat_percentiles=1
[timed]
[untimed]
{off}
"""
LATENCIES = (
    "lat_mean_ns", "lat_min_ns", "lat_max_ns", "lat_stddev_ns", "clat_mean_ns", "clat_max_ns",
    "quantiles_of", *QUANTILES,
)  # fmt: skip


@pytest.mark.parametrize("off", ["gtod_reduce=1", "disable_clat=1\ndisable_lat=1"])
def test_a_step_with_a_job_that_times_nothing_has_no_latency_of_all(off, tmp_path):
    rows = timed_by_fio(MIXED.format(off=off), tmp_path)
    timed, untimed = (pick(rows, job=name) for name in ("timed", "untimed"))
    together = pick(rows, scope="step")
    assert timed.lat_mean_ns
    assert timed.p99_ns
    assert untimed.lat_mean_ns is None
    assert [getattr(together, name) for name in LATENCIES] == [None] * len(LATENCIES)
    assert together.clat_samples == 0
    assert together.ios == timed.ios + untimed.ios == 2048


def test_where_one_job_has_no_total_or_no_completion_latency_the_other_of_all_is_shown(tmp_path):
    together = pick(timed_by_fio(MIXED.format(off="disable_lat=1"), tmp_path), scope="step")
    assert together.lat_mean_ns is None
    assert (together.quantiles_of, together.clat_samples) == ("clat", 2048)
    # A group that hides an untimed member shows only what all were timed for.
    job = MIXED.format(off="disable_clat=1").replace("size=4m", "size=4m\ngroup_reporting")
    for row in timed_by_fio(job, tmp_path):
        assert (row.ios, row.clat_mean_ns) == (2048, None)
        assert row.lat_mean_ns


@pytest.mark.parametrize(("ios", "shown"), [(1000, True), (1010, True), (1011, False)])
def test_a_few_ios_that_failed_untimed_take_no_latency_away(ios, shown):
    job = fake_job(0, [1000.0] * 1000)
    stats = replace(job.directions["read"], ios=ios)
    rows = rows_of_jobs([replace(job, directions={"read": stats})])
    assert {row.lat_mean_ns for row in rows} == {1000.0 if shown else None}


# --- Syncs


def rows_and_warnings(name, job="commit"):
    one = step(f"[{job}]\nrw=write\nioengine=sync\nfdatasync=1\nsize=400k\n")
    output, rows = rows_of(name, one.job)
    return rows, {w.code for w in step_warnings(one, rows, output, HostFacts(hostname="h"), None)}


@pytest.mark.parametrize("name", ["v3.33-fdatasync", "v3.12-fdatasync", "v3.99-fdatasync"])
def test_fdatasync_has_a_row_with_its_own_latencies_whatever_fio_counted(name):
    rows, codes = rows_and_warnings(name)
    raw = json.loads((CASES / "v3.33-fdatasync.out").read_text())["jobs"][0]
    row = pick(rows, scope="step", direction="sync")
    seconds = raw["write"]["runtime"] / 1000
    assert row.ios == raw["sync"]["lat_ns"]["N"] == 511
    assert row.iops == pytest.approx(511 / seconds)
    assert row.lat_mean_ns == raw["sync"]["lat_ns"]["mean"]
    assert row.lat_max_ns == raw["sync"]["lat_ns"]["max"]
    percentiles = raw["sync"]["lat_ns"]["percentile"]
    assert row.p50_ns == pytest.approx(percentiles["50.000000"], rel=1 / 64)
    assert row.p99_ns == pytest.approx(percentiles["99.000000"], rel=1 / 64)
    assert row.p99_9_ns is None  # 511 I/Os are too few
    assert "short-ios" not in codes
    assert all(row.short_ios == 0 for row in rows)


def test_fsync_beside_fdatasync_is_counted_once_and_untimed_syncs_have_no_latency():
    rows, codes = rows_and_warnings("v3.33-fsync-and-fdatasync", job="both")
    raw = json.loads((CASES / "v3.33-fsync-and-fdatasync.out").read_text())["jobs"][0]
    row = pick(rows, scope="step", direction="sync")
    assert row.ios == raw["sync"]["lat_ns"]["N"] > raw["sync"]["total_ios"] > 0
    assert "short-ios" not in codes
    rows, codes = rows_and_warnings("v3.33-fdatasync-untimed")
    row = pick(rows, scope="step", direction="sync")
    assert (row.ios, row.lat_mean_ns, row.p99_ns) == (99, None, None)
    assert "short-ios" not in codes


def stats(ios, short=0, lat=None):
    return DirectionStats(ios=ios, bytes=ios * 4096, runtime_ns=10**9, short_ios=short, lat=lat)


def timed(samples):
    return ReportedLatency(samples, 1, 2, 1.5, 0.0) if samples else None


@given(
    fsyncs=st.integers(0, 10**6), datasyncs=st.integers(0, 10**6), short_reads=st.integers(0, 1000),
    reads=st.integers(1000, 10**6),
)  # fmt: skip
def test_short_reads_beside_syncs_stay_short_reads(fsyncs, datasyncs, short_reads, reads):
    read, sync = stats(reads, short_reads + datasyncs), stats(fsyncs, lat=timed(fsyncs + datasyncs))
    counted = count_syncs({"read": read, "sync": sync})
    assert (counted["read"].short_ios, counted["sync"].ios) == (short_reads, fsyncs + datasyncs)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_job_without_syncs_is_left_as_it_is(ios, short):
    directions = {"write": stats(ios, min(short, ios)), "sync": stats(0)}
    assert count_syncs(directions) == directions
