"""Every sync is a sync, and none of them a short I/O."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.plans import make_step

from diskbench.fio.output import parse_output
from diskbench.fio.reported import DirectionStats, ReportedLatency, count_syncs
from diskbench.fio.rows import measurements
from diskbench.fio.warnings import step_warnings
from diskbench.model.facts import HostFacts

CASES = Path(__file__).parents[2] / "cases" / "fio_output"
JOB = "[{name}]\nrw=write\nioengine=sync\nfdatasync=1\nsize=400k\n"


def rows_and_warnings(name, job="commit"):
    output = parse_output((CASES / f"{name}.out").read_bytes(), where=name)
    step = make_step(rw="write").model_copy(update={"job": JOB.format(name=job)})
    rows = measurements(output, run_id="01run", step=step)
    facts = HostFacts(hostname="h")
    return rows, {w.code for w in step_warnings(step, rows, output, facts, None)}


@pytest.mark.parametrize("name", ["v3.33-fdatasync", "v3.12-fdatasync", "v3.99-fdatasync"])
def test_fdatasync_has_a_row_with_its_own_latencies_whatever_fio_counted(name):
    rows, codes = rows_and_warnings(name)
    raw = json.loads((CASES / "v3.33-fdatasync.out").read_text())["jobs"][0]
    row = next(row for row in rows if row.scope == "step" and row.direction == "sync")
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


def test_fsync_beside_fdatasync_is_counted_once():
    rows, codes = rows_and_warnings("v3.33-fsync-and-fdatasync", job="both")
    raw = json.loads((CASES / "v3.33-fsync-and-fdatasync.out").read_text())["jobs"][0]
    row = next(row for row in rows if row.scope == "step" and row.direction == "sync")
    assert row.ios == raw["sync"]["lat_ns"]["N"] > raw["sync"]["total_ios"] > 0
    assert "short-ios" not in codes


def test_syncs_that_nobody_timed_are_counted_and_have_no_latency():
    rows, codes = rows_and_warnings("v3.33-fdatasync-untimed")
    row = next(row for row in rows if row.scope == "step" and row.direction == "sync")
    assert (row.ios, row.lat_mean_ns, row.p99_ns) == (99, None, None)
    assert "short-ios" not in codes


def stats(ios, short=0, lat=None):
    return DirectionStats(ios=ios, bytes=ios * 4096, runtime_ns=10**9, short_ios=short, lat=lat)


def timed(samples):
    return (
        ReportedLatency(samples=samples, min_ns=1, max_ns=2, mean_ns=1.5, stddev_ns=0.0)
        if samples
        else None
    )


@given(
    fsyncs=st.integers(0, 10**6), datasyncs=st.integers(0, 10**6), short_reads=st.integers(0, 1000),
    reads=st.integers(1000, 10**6),
)  # fmt: skip
def test_short_reads_beside_syncs_stay_short_reads(fsyncs, datasyncs, short_reads, reads):
    counted = count_syncs(
        {
            "read": stats(reads, short_reads + datasyncs),
            "sync": stats(fsyncs, lat=timed(fsyncs + datasyncs)),
        }
    )
    assert counted["read"].short_ios == short_reads
    assert counted["sync"].ios == fsyncs + datasyncs


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_job_without_syncs_is_left_as_it_is(ios, short):
    directions = {"write": stats(ios, min(short, ios)), "sync": stats(0)}
    assert count_syncs(directions) == directions
