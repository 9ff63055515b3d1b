"""Figures of the whole, of its syncs, of old versions, and of what no file says."""

import json
import re
from pathlib import Path

import pytest
from tests.rigs.fio_reports import Disk, Told, bucket_index, text
from tests.rigs.plans import call_fio

from diskbench.errors import InvalidValue
from diskbench.fio.audit import audit_output
from diskbench.fio.declared import block_bytes, is_set, job_text, options_known, options_of
from diskbench.fio.histogram import bucket_middle_ns, longest_ns
from diskbench.fio.text import without_times
from diskbench.fio.warnings import step_warnings
from diskbench.importers.fio_report import read_reports
from diskbench.importers.fio_runs import split_runs
from diskbench.importers.registry import read_imported
from diskbench.model.facts import HostFacts
from diskbench.plan.loads import asked_by

CASES = Path(__file__).parents[2] / "cases/imports"


def rows(data, name="x"):
    found = read_imported(data if isinstance(data, bytes) else data.encode(), name=name)
    return {
        row.direction: row
        for run in found.runs for step in run.steps for row in step.measurements
        if row.scope == "step"
    }  # fmt: skip


# --- diskspd: a table of a part after that of the whole

PART = """
D:\\part.dat
  %-ile |  Read (ms) | Write (ms) | Total (ms)
----------------------------------------------
    min |      0.001 |      0.001 |      0.001
   50th |     77.000 |     77.000 |     77.000
   99th |     88.000 |     88.000 |     88.000
    max |     99.000 |     99.000 |     99.000
"""


@pytest.mark.parametrize("name", sorted(path.name for path in CASES.glob("diskspd*text.txt")))
@pytest.mark.parametrize("parts", [1, 3])
def test_a_table_of_a_target_changes_no_figure_of_all(name, parts):
    text = (CASES / name).read_text()
    assert rows(text + PART * parts) == rows(text) or "%-ile" not in text
    with_totals = re.search(r"^Write IO\n(?:.*\n)+?total:.*\n", text, re.MULTILINE)
    if with_totals:
        assert rows(text + "\n" + with_totals[0].replace("total:", "total:  7", 1)) == rows(text)


def test_tables_of_targets_alone_are_of_no_one():
    text = (CASES / "diskspd-2.0-text.txt").read_text()
    alone = text[: text.index("  %-ile")].rstrip() + "\n" + PART + PART
    assert all(row.p50_ns is None for row in rows(alone).values())


# --- fio's text: syncs, and old versions

TEXT = """wal: (g=0): rw=write, bs=(R) 2048B-2048B, (W) 2048B-2048B, (T) 2048B-2048B, ioengine=sync, iodepth=1
fio-3.30
Starting 1 process

wal: (groupid=0, jobs=1): err= 0: pid=100: Mon Jan  5 10:00:00 2026
  write: IOPS=1000, BW=2000KiB/s (2048kB/s)(19.5MiB/10000msec); 0 zone resets
    clat (usec): min=5, max=80, avg=12.00, stdev= 3.00
     lat (usec): min=5, max=81, avg=12.50, stdev= 3.10
    clat percentiles (usec):
     | 50.00th=[   11], 90.00th=[   16], 95.00th=[   18], 99.00th=[   25]
  fsync/fdatasync/sync_file_range:
    sync (UNIT): min=MIN, max=MAX, avg=AVG, stdev=50.00
    sync percentiles (UNIT):
     | 50.00th=[  MIN], 90.00th=[ MAX], 95.00th=[ MAX], 99.00th=[ MAX]
  cpu          : usr=1.00%, sys=3.00%, ctx=20000, majf=0, minf=10
     issued rwts: ISSUED dropped=0,0,0,0

Run status group 0 (all jobs):
"""  # noqa: E501 - fio's own line


@pytest.mark.parametrize(
    ("unit", "figures", "ns"),
    [
        ("nsec", ("700", "30000", "980.00"), 1), ("usec", ("700", "30000", "980.00"), 1000),
        ("usec", ("700", "30k", "980.00"), None), ("msec", ("7", "300", "9.00"), 10**6),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("issued", "syncs", "short"),
    [
        ("total=0,10000,0,0 short=9999,0,0,0", 9999, 0),
        ("total=0,10000,0,2500 short=0,3,0,0", 2500, 3),
        ("total=0,10000,0,0 short=0,5000,0,0", 5000, 0),
        ("total=0,10000,0,0 short=0,0,0,0", None, 0),
    ],
)
def test_the_syncs_of_a_text_are_a_row_of_their_own(unit, figures, ns, issued, syncs, short):
    text = TEXT.replace("ISSUED", issued).replace("UNIT", unit)
    least, most, mean = figures
    if ns is None:
        text = text.replace("[ MAX]", "[30000]")
        ns, most_ns = 1000, 30_000_000
    else:
        most_ns = int(most) * ns
    found = rows(text.replace("MIN", least).replace("MAX", most).replace("AVG", mean))
    sync, write = found["sync"], found["write"]
    assert (sync.ios, write.ios, write.short_ios) == (syncs, 10_000, short)
    assert sync.lat_mean_ns == pytest.approx(float(mean) * ns)
    assert (sync.lat_min_ns, sync.lat_max_ns) == (int(least) * ns, most_ns)
    assert sync.p99_ns == most_ns
    assert (write.lat_mean_ns, write.p99_ns, write.block_bytes) == (12_500, 25_000, 2048)


@pytest.mark.parametrize(("short", "waits"), [("9999", True), ("9000", True), ("800", False)])
def test_as_many_syncs_as_writes_show_that_each_write_waits(short, waits):
    text = TEXT.replace("ISSUED", f"total=0,10000,0,0 short={short},0,0,0").replace("UNIT", "usec")
    text = text.replace("MIN", "700").replace("MAX", "30000").replace("AVG", "980.00")
    (output,) = read_reports("fio-text", text.encode(), where="x")
    assert ("fsync=1" in job_text(output)) is waits


OLD = """old: (g=0): rw=randread, bs=8K-8K/8K-8K, ioengine=libaio, iodepth=4
VERSION
Starting 1 process

old: (groupid=0, jobs=1): err= 0: pid=77
  read : DIRECTION
    slat (usec): min=2 , max=90 , avg= 4.00, stdev= 1.00
    clat (usec): min=200 , max=9000 , avg=1590.00, stdev=300.00
     lat (usec): min=205 , max=9010 , avg=1594.00, stdev=300.00
PERCENTILES    bw (KB/s)  : min=18000, max=22000, per=100.00%, avg=20000.00, stdev=500.00
  cpu          : usr=1.00%, sys=3.00%, ctx=50000, majf=0, minf=20
     ISSUED

Run status group 0 (all jobs):

Disk stats (read/write):
  sda: ios=49000/10, merge=0/5, ticks=845000/10, in_queue=845100, util=99.80%
"""
OF_2 = """    clat percentiles (usec):
     |  1.00th=[  400], 50.00th=[ 1500], 90.00th=[ 2400], 95.00th=[ 2800], 99.00th=[ 4100]
"""


@pytest.mark.parametrize("version", ["2.0.8", "2.0", "fio-2.0.15", "fio 1.59", "fio-1.57", "1.38"])
@pytest.mark.parametrize(
    "direction",
    [
        "io=400000KB, bw=20000KB/s, iops=2500 , runt= 20000msec",
        "io=400000KB, bw=20000KB/s, iops=2500, runt= 20000msec",
        "io=400,000KB, bw=20,000KB/s, iops=2,500, runt= 20000msec",
        "io=400000KiB, bw= 20000KiB/s, iops=2500 , runt=20000msec",
        "io=400000KiB, bw=20000KiB/s, runt= 20000msec",
    ],
)
@pytest.mark.parametrize(
    "issued",
    ["issued    : total=r=50000/w=0/d=0, short=r=0/w=0/d=0", "issued r/w: total=50000/0, short=0/0",
     "issued r/w/d: total=50000/0/0, short=0/0/0"],
)  # fmt: skip
@pytest.mark.parametrize("percentiles", [OF_2, ""])
def test_text_of_fio_1_and_2_0_has_its_figures(version, direction, issued, percentiles):
    text = OLD.replace("VERSION", version).replace("DIRECTION", direction)
    text = text.replace("ISSUED", issued).replace("PERCENTILES", percentiles)
    found = read_imported(text.encode() * 2, name="x")
    assert len(found.runs) == 2, "appended: each version begins another"
    assert found.tool_version == f"fio-{version.removeprefix('fio').strip(' -')}"
    assert found.facts["disks"] == "sda"
    row = rows(text)["read"]
    assert (row.ios, row.bytes, row.iops, row.bytes_per_s) == (
        50_000, 409_600_000, 2500, 20_480_000,
    )  # fmt: skip
    assert (row.lat_mean_ns, row.lat_max_ns) == (1_594_000, 9_010_000)
    assert row.p99_ns == (4_100_000 if percentiles else None)
    assert (row.rw, row.block_bytes, row.iodepth) == ("randread", 8192, 4)


# --- fio's JSON: units, ends of histograms, ramps, options


def latency(scale=1, **more):
    percentiles = {"50.000000": 400_000 // scale, "99.000000": 1_200_000 // scale}
    of_all = {"min": 90_000, "max": 5_000_000, "mean": 420_000, "stddev": 80_000}
    return {**{k: v // scale for k, v in of_all.items()}, "percentile": percentiles, **more}


def document(version="fio-3.36", *, options=(), ios=60_000, more=0, **read):
    size = (ios + more) * 4096
    stats = {"io_bytes": size, "io_kbytes": size // 1024, "bw": size // 30 // 1024,
             "iops": ios / 30, "runtime": 30_000, "total_ios": ios}  # fmt: skip
    job = {"jobname": "r", "groupid": 0, "error": 0, "elapsed": 31, "read": stats | read}
    usual = {"rw": "randread", "bs": "4096", "iodepth": "32", "direct": "1", "ioengine": "libaio"}
    if options is not None:
        job["job options"] = usual | dict(options)
    return {"fio version": version, "timestamp": 1_790_000_000, "jobs": [job]}


def report(root):
    (output,) = read_reports("fio-json", json.dumps(root).encode(), where="x")
    return output


@pytest.mark.parametrize(
    ("version", "suffix", "sizes", "scale"),
    [
        ("fio-2.2.10", "", {"io_bytes": 240_000, "io_kbytes": None}, 1000),
        ("fio-2.21", "", {"io_bytes": None, "io_kbytes": 240_000}, 1000),
        ("fio-2.21", "", {"io_bytes": 245_760_000, "io_kbytes": 240_000}, 1000),
        ("fio-2.99", "_ns", {"io_bytes": None, "io_kbytes": 240_000}, 1),
        ("fio-2.21-89-gabcdef", "_ns", {"io_bytes": None, "io_kbytes": 240_000}, 1),
        ("fio-3.1", "_ns", {"io_bytes": None, "io_kbytes": 240_000}, 1),
        ("fio-3.36", "_ns", {}, 1),
    ],
)
def test_sizes_and_latencies_have_the_units_that_their_names_show(version, suffix, sizes, scale):
    kinds = {f"{kind}{suffix}": latency(scale) for kind in ("clat", "lat")}
    root = document(version, **kinds, **sizes)
    stats = root["jobs"][0]["read"]
    root["jobs"][0]["read"] = {key: value for key, value in stats.items() if value is not None}
    row = rows(json.dumps(root))["read"]
    assert (row.bytes, row.ios) == (245_760_000, 60_000)
    assert (row.lat_mean_ns, row.lat_max_ns, row.p99_ns) == (420_000, 5_000_000, 1_200_000)


def test_a_latency_that_is_there_and_cannot_be_read_is_refused():
    wrong = [{"clat_ns": of} for of in ([1, 2], "fast", latency(N=0))]
    in_usec = latency(1000)
    for changes in (*wrong, {"clat": in_usec}, {"clat_ns": latency(), "lat": in_usec}):
        with pytest.raises(InvalidValue, match=r"clat|latencies"):
            rows(json.dumps(document(**changes)))


@pytest.mark.parametrize("keys", ["latencies", "numbers of buckets"])
@pytest.mark.parametrize("constants", [True, False])
def test_a_histogram_of_fio_2_is_read_by_what_its_keys_are(keys, constants):
    numbers = {bucket_index(us): count for us, count in ((400, 59_000), (1200, 1000))}
    bins = {str(n if keys != "latencies" else bucket_middle_ns(n)): c for n, c in numbers.items()}
    if constants:
        bins |= {"FIO_IO_U_PLAT_BITS": 6, "FIO_IO_U_PLAT_VAL": 64, "FIO_IO_U_PLAT_NR": 1216}
    found = document("fio-2.21", clat=latency(1000, bins=bins), lat=latency(1000))
    row = rows(json.dumps(found))["read"]
    assert row.p50_ns == pytest.approx(400_000, rel=0.01)
    assert row.p99_9_ns == pytest.approx(1_200_000, rel=0.01)


ENDS = {"fio-2.2.10": 16_711_680_000, "fio-3.36": 17_112_760_320}


@pytest.mark.parametrize("version", ENDS)
@pytest.mark.parametrize("form", ["percentiles", "bins"])
def test_percentiles_at_the_end_of_the_histogram_are_at_least_that(version, form):
    end, scale = ENDS[version], 1000 if version < "fio-3" else 1
    figures = {
        "min": 10**9 // scale, "max": 60 * 10**9 // scale, "mean": 41e9 / scale, "stddev": 1.0,
    }  # fmt: skip
    middle = bucket_middle_ns(bucket_index(2 * 10**9 // scale))
    if form == "bins":
        figures["bins"] = {str(middle): 35_000, str(end // scale): 25_000}
    else:
        figures["percentile"] = {"50.000000": middle, "90.000000": end // scale,
                                 "99.000000": end // scale}  # fmt: skip
    suffix = "_ns" if scale == 1 else ""
    root = document(
        version, **{f"clat{suffix}": figures, f"lat{suffix}": dict(figures, percentile={}, bins={})}
    )
    if scale > 1:
        del root["jobs"][0]["read"]["io_kbytes"]
        root["jobs"][0]["read"]["io_bytes"] //= 1024
    row = rows(json.dumps(root))["read"]
    assert (row.p50_ns, row.p90_ns, row.p99_ns) == (pytest.approx(2e9, rel=0.01), None, None)
    assert row.lat_max_ns == 60 * 10**9
    output = report(root)
    (((step, part),),) = split_runs([output])
    doubts = step_warnings(step, (row,), part, HostFacts(), None)
    (said,) = [doubt for doubt in doubts if doubt.code == "histogram-end"]
    assert f"at least {longest_ns(output.version_numbers) / 1e9:.1f} s" in said.message
    assert said.message.startswith("p90 and higher of read")


RAMP = {"ramp_time": "5"}


@pytest.mark.parametrize(
    ("options", "more", "holds"),
    [
        (RAMP, 31, True), (RAMP, 32, True), (RAMP, 33, False), (RAMP, -1, False),
        (RAMP | {"numjobs": "4", "group_reporting": "1"}, 31, True),
        (RAMP | {"iodepth": "1"}, 1, True), (RAMP | {"iodepth": "1"}, 2, False),
        (RAMP | {"ioengine": "psync"}, 1, False),
        (RAMP | {"ioengine": "psync", "io_submit_mode": "offload"}, 31, True),
        ({"ramp_time": "0"}, 31, False), ({}, 1, False), ({}, 0, True),
    ],
)  # fmt: skip
def test_after_a_ramp_bytes_may_be_of_the_ios_that_were_under_way(options, more, holds):
    output = report(document(options=options, more=more, clat_ns=latency()))
    checks = {check.name: check.holds for check in audit_output(output, {}, end_known=True)}
    assert checks["bytes"] is holds or (checks["bytes"] is None and "numjobs" in options)


@pytest.mark.parametrize(("mib", "holds"), [("234.4", True), ("234.5", True), ("234.8", False)])
def test_a_text_does_not_say_whether_it_had_a_ramp(mib, holds):
    text = TEXT.replace("ISSUED", "total=0,60000,0,0 short=0,0,0,0").replace("2048B", "4096B")
    text = text.replace("ioengine=sync, iodepth=1", "ioengine=libaio, iodepth=32")
    text = text.replace("(19.5MiB/10000msec)", f"({mib}MiB/30000msec)")
    text = text.replace("IOPS=1000, BW=2000KiB/s (2048kB/s)", "IOPS=2000, BW=7.8MiB/s (8.2MB/s)")
    (output,) = read_reports("fio-text", text.encode(), where="x")
    checks = {check.name: check.holds for check in audit_output(output, {}, end_known=True)}
    assert checks["bytes"] is holds


@pytest.mark.parametrize(
    ("job", "globals_", "known"),
    [
        (None, None, False), ({}, {}, False), ({"name": "n"}, None, False),
        ({"name": "n", "rw": "read"}, None, True), ({"name": "n"}, {"bs": "4k"}, True),
    ],
)  # fmt: skip
def test_an_option_is_at_its_default_only_where_others_are_listed(job, globals_, known):
    root = document(options=None, clat_ns=latency())
    if job is not None:
        root["jobs"][0]["job options"] = job
    if globals_ is not None:
        root["global options"] = globals_
    output = report(root)
    assert options_known(output.jobs[0], output) is known
    assert bool(job_text(output)) is known
    row = rows(json.dumps(root))["read"]
    assert row.block_bytes == 4096, "what follows from the counts"
    if not known:
        assert (row.rw, row.iodepth) == (None, None)


def test_a_text_does_not_say_whether_its_io_was_direct():
    direction = "io=400000KB, bw=20000KB/s, iops=2500, runt= 20000msec"
    data = OLD.replace("VERSION", "fio-2.0.15").replace("DIRECTION", direction)
    outputs = read_reports("fio-text", data.replace("PERCENTILES", "").encode(), where="x")
    (((step, part),),) = split_runs(outputs)
    step = step.model_copy(update={"job": job_text(part)})
    load = asked_by(step, capacity_bytes=None, says_direct=part.lists_options).load
    assert (load.direct, load.depth, load.block_bytes, load.random) == (None, 4, 8192, True)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json+", "normal"])
def test_a_group_of_two_block_sizes_is_read_without_a_contradiction(form, tmp_path):
    (tmp_path / "two.fio").write_text(
        f"[global]\nfilename={tmp_path}/f\nsize=8m\ntime_based\nruntime=2\n"
        "rate_iops=500\ngroup_reporting\nrw=randread\n[a]\nbs=4k\n[b]\nbs=64k\n"
    )
    done = call_fio(f"--output-format={form}", "two.fio", at=tmp_path)
    kind = "fio-text" if form == "normal" else "fio-json"
    (output,) = read_reports(kind, done.stdout, where="x")
    assert [c.name for c in audit_output(output, {}, end_known=True) if c.holds is False] == []
    job, options = output.jobs[0], options_of(output.jobs[0], output, {})
    assert block_bytes(options, "read") is None
    assert is_set(options, "group_reporting")
    assert job.directions["read"].ios


def test_the_times_that_a_ci_job_writes_before_each_line_are_left_out_and_a_single_one_stays():
    plain = text([Told()], [Disk(reads=180_000)])
    zulu = ("[2026-11-28T06:00:00.123Z] ", "2026-11-28T06:00:00.1234567Z ")
    for time in ("00:14:33.770  ", *zulu, "2026-11-28 06:00:00,123 "):
        logged = "\n".join(f"{time}{line}" for line in plain.splitlines())
        assert rows(logged)["read"] == rows(plain)["read"], time
    assert without_times(["00:14:33  a", "b", "c"]) == ["00:14:33  a", "b", "c"]
