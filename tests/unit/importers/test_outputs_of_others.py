"""Real outputs of others, found in public repositories; what is expected was worked out by hand
from what each printed.
"""

import json
from pathlib import Path

import pytest

from diskbench.errors import InvalidValue
from diskbench.fio.audit import audit_output
from diskbench.fio.text import parse_text
from diskbench.importers.registry import read_imported
from diskbench.store.import_sources import read_sources

CASES = Path(__file__).parents[2] / "cases"
KIB, MIB, GIB = 2**10, 2**20, 2**30


def rows(name, run=0):
    data = (CASES / "imports" / name).read_bytes()
    found = read_imported(data, name=name)
    return {
        (row.step, row.direction): row
        for step in found.runs[run].steps
        for row in step.measurements
        if row.scope == "step"
    }


@pytest.mark.parametrize(
    ("name", "key", "ios", "block", "ms", "iops", "mean_us"),
    [
        # 77968 KiB / 16 KiB = 4,873 I/Os in 10.001 s: 487
        ("fio-2.0.15-terse.txt", ("16k-1-read", "read"), 4_873, 16, 10_001, 487, 720.603324),
        # 76640 KiB / 16 KiB = 4,790: 478
        ("fio-2.0.15-terse.txt", ("16k-1-read", "write"), 4_790, 16, 10_001, 478, 1349.806263),
        # 2097152 KiB / 4 KiB = 524,288 in 141.787 s: 3,697; the text says 14.4MiB/s
        (
            "fio-3.1-terse.txt", ("Rand_Read_Latency_Testingrandwrite", "read"), 524_288, 4,
            141_787, 3697, 534.512884,
        ),
        # 132160 KiB / 4 KiB = 33,040 in 10.005 s: 3,302; the text says 12.9MiB/s (13.5MB/s)
        ("fio-3.32-terse.txt", ("name", "read"), 33_040, 4, 10_005, 3302, 302.054914),
    ],
)  # fmt: skip
def test_terse_lines_of_others(name, key, ios, block, ms, iops, mean_us):
    row = rows(name)[key]
    assert (row.ios, row.bytes, row.runtime_ns) == (ios, ios * block * KIB, ms * 1_000_000)
    assert int(row.iops) == iops
    assert row.lat_mean_ns == pytest.approx(mean_us * 1000)


@pytest.mark.parametrize(
    ("name", "size", "write", "rewrite", "read", "seeks", "longest_ms"),
    [
        ("bonnie-1.96.txt", 32_080 * MIB, 126_598, 74_273, 229_733, 13_116, 554),
        ("bonnie-2.00a-wsl.txt", 63 * GIB, 51_776, 22_717, 40_308, 8_475, 17.524),
    ],
)
def test_bonnies_lines_of_others(name, size, write, rewrite, read, seeks, longest_ms):
    found = rows(name)
    for key, rate in (
        (("block-write", "write"), write),
        (("rewrite", "write"), rewrite),
        (("block-read", "read"), read),
    ):
        row = found[key]
        assert row.bytes_per_s == rate * KIB
        assert row.bytes == size
        assert row.ios * 8192 == size
        assert row.runtime_ns / 1e9 == pytest.approx(size / KIB / rate)
        assert row.iops * 8192 == pytest.approx(row.bytes_per_s)
    assert found["seeks", "read"].iops == seeks
    assert found["block-write", "write"].lat_max_ns == longest_ms * 1e6


@pytest.mark.parametrize(
    ("name", "direction", "size", "ios", "block", "mb_per_s"),
    [
        ("dd-bsd.txt", "write", 1_021_592_274, 975, MIB, 2.124985),  # 974 whole and a part
        ("dd-2003.txt", "write", 10 * MIB, 10, MIB, 368.981986),
        ("dd-fdatasync.txt", "write", 1024 * MIB, 1024, MIB, 199.0),
        ("dd-microseconds.txt", "mixed", 512, 1, 512, 8.4),  # in 60.645 µs
    ],
)
def test_last_lines_of_dd_of_others(name, direction, size, ios, block, mb_per_s):
    (row,) = rows(name).values()
    assert (row.direction, row.bytes, row.ios, row.block_bytes) == (direction, size, ios, block)
    assert row.bytes_per_s / 1e6 == pytest.approx(mb_per_s, rel=0.01)


def test_diskspd_of_a_stick():
    """Of 30.00 s: 2,672 reads and 904 writes of 64 KiB, 89.06 and 30.13 a second."""
    found = rows("diskspd-2020-text.txt")
    read, write = found["timespan-1", "read"], found["timespan-1", "write"]
    assert (read.ios, read.bytes) == (2_672, 2_672 * 64 * KIB)
    assert (write.ios, write.bytes) == (904, 904 * 64 * KIB)
    assert read.iops == pytest.approx(89.06, abs=0.01)
    assert read.bytes_per_s / MIB == pytest.approx(5.57, abs=0.005)
    assert (write.lat_mean_ns, write.p99_ns) == pytest.approx((282.644e6, 1159.714e6))
    assert (read.lat_min_ns, read.lat_max_ns) == (4_292_000, 1_385_033_000)
    assert read.p99_9_ns is None, "2,672 I/Os are fewer than stand behind a p99.9"
    assert (read.jobs, read.iodepth) == (8, 4)


@pytest.mark.parametrize(
    ("name", "rate", "response_ms", "longest_ms"),
    [
        ("vdbench-50406-iscsi.txt", 2136.74, 29.682, 106.683),
        ("vdbench-50406-nvme.txt", 2232.21, 28.504, 540.899),
    ],
)
def test_vdbench_5_04_06_has_one_longest_response(name, rate, response_ms, longest_ms):
    """Intervals 31 to 150 of (120 + 30) s in 150 intervals: 120 s, of 1 MiB each."""
    (row,) = rows(name).values()
    assert (row.direction, row.runtime_ns, row.iops) == ("mixed", 120_000_000_000, rate)
    assert row.bytes_per_s == pytest.approx(rate * MIB)
    assert (row.lat_mean_ns, row.lat_max_ns) == pytest.approx((response_ms * 1e6, longest_ms * 1e6))


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("gobonniego-1.0.5-standard.json", 2),
        ("gobonniego-1.0.8-gp2.json", 2),
        ("gobonniego-1.0.9-standard.json", 1),
    ],
)
def test_gobonniegos_own_rates_are_those_of_its_counts(name, runs):
    results = json.loads((CASES / "imports" / name).read_text())["results"]
    assert len(results) == runs
    for run, result in enumerate(results):
        found = rows(name, run)
        write, read = found["seqwrite", "write"], found["seqread", "read"]
        assert write.bytes == read.bytes == 15_682_502_656
        assert write.bytes_per_s / 1e6 == pytest.approx(result["write_megabytes_per_second"])
        assert read.bytes_per_s / 1e6 == pytest.approx(result["read_megabytes_per_second"])
        assert found["iops", "mixed"].iops == pytest.approx(result["iops"])


def test_a_folder_of_bench_fio_gives_each_json_its_logs():
    found = read_sources([CASES / "fio_plot/FLOPPY"])
    (source,) = found.sources
    assert source.name == "read-1-1.json"
    assert list(source.logs) == ["read-iodepth-1-numjobs-1_iops.1.log"]
    assert [left.path.name for left in found.left_out] in ([], ["README.md"])
    run = read_imported(source.data, name=source.name).runs[0]
    (row,) = (r for s in run.steps for r in s.measurements if r.scope == "step")
    # 360 I/Os of 4 KiB are the 1,440 KiB of a floppy, in 114.153 s
    assert (row.ios, row.bytes, row.runtime_ns) == (360, 1440 * KIB, 114_153_000_000)
    assert row.iops == pytest.approx(3.153662)
    assert run.finished_at.startswith("2019-12-16T00:04:46.931")


def imported(name):
    return read_imported((CASES / "imports" / name).read_bytes(), name=name)


def row_of(name, direction):
    rows = [
        row
        for step in imported(name).runs[0].steps
        for row in step.measurements
        if row.scope == "step" and row.direction == direction
    ]
    assert len(rows) == 1
    return rows[0]


@pytest.mark.parametrize(
    ("name", "direction", "ios", "block", "seconds", "pattern", "jobs", "depth", "started"),
    [
        # four threads: 22645 + 22623 + 22548 + 23154
        (
            "diskspd-2.0.21a.xml", "read", 90_970, 65_536, 30.02, "read", 4, 2,
            "2018-10-18T21:39:04",
        ),
        ("diskspd-2.2.0.xml", "read", 91_807, 4096, 5.01, "randread", 1, 2, "2026-05-19T15:43:15"),
        (
            "diskspd-2.3.0-write.xml", "write", 22_114, 4096, 1.01, "randwrite", 1, 1,
            "2026-09-10T06:30:32",
        ),
    ],
)  # fmt: skip
def test_diskspds_xml(name, direction, ios, block, seconds, pattern, jobs, depth, started):
    row = row_of(name, direction)
    assert (row.ios, row.bytes, row.block_bytes) == (ios, ios * block, block)
    assert row.runtime_ns == round(seconds * 1e9)
    assert row.iops == pytest.approx(ios / seconds)
    assert row.bytes_per_s == pytest.approx(ios * block / seconds)
    assert (row.rw, row.jobs, row.iodepth) == (pattern, jobs, depth)
    (run,) = imported(name).runs
    assert run.started_at.startswith(started)
    assert run.steps[0].compared


def test_latencies_in_diskspds_xml():
    """Milliseconds; -L was given in two of the three."""
    read, write = row_of("diskspd-2.2.0.xml", "read"), row_of("diskspd-2.3.0-write.xml", "write")
    assert (read.lat_mean_ns, read.lat_stddev_ns) == pytest.approx((0.106e6, 2.254e6))
    assert (read.lat_min_ns, read.lat_max_ns) == (59_000, 459_222_000)
    assert (read.p99_ns, read.p99_9_ns) == pytest.approx((0.427e6, 2.609e6))
    assert (write.p90_ns, write.p95_ns, write.p99_ns) == pytest.approx((46e3, 53e3, 116e3))
    assert row_of("diskspd-2.0.21a.xml", "read").lat_mean_ns is None


def test_diskspds_report_of_a_failed_run_is_refused_and_says_so():
    path = CASES / "imports" / "refused/diskspd-2.3.0-no-result.xml"
    with pytest.raises(InvalidValue) as refused:
        read_imported(path.read_bytes(), name=path.name)
    assert refused.value.exit_code == 2
    assert "measured nothing" in refused.value.message


@pytest.mark.parametrize(
    ("name", "kib_s", "iops", "block", "depth", "pattern", "mean_us", "p50_us", "taken"),
    [
        # 97051 KiB/s / 512 KiB = 189.55
        (
            "perfkit-t4g-small.json", 97_051, 189.553043, 512 * KIB, 64, "write", 314840.133727,
            308281.344, "2023-05-25T01:41:17",
        ),
        # 3068 KiB/s / 4 KiB = 767
        (
            "perfkit-t4g-large.json", 3_068, 767.189385, 4 * KIB, 1, "randwrite", 1290.014333,
            1105.92, "2023-05-25T17:32:24",
        ),
        # 204010 KiB/s / 512 KiB = 398.46
        (
            "perfkit-kvm.json", 204_010, 398.457584, 512 * KIB, 64, "write", 70784.448439, 38010.88,
            "2023-05-25T00:11:53",
        ),
    ],
)  # fmt: skip
def test_perfkits_samples(name, kib_s, iops, block, depth, pattern, mean_us, p50_us, taken):
    row = row_of(name, "write")
    assert row.bytes_per_s == kib_s * KIB
    assert row.iops == iops
    assert (row.block_bytes, row.iodepth, row.jobs, row.rw) == (block, depth, 1, pattern)
    assert row.bytes_per_s / row.block_bytes == pytest.approx(row.iops, rel=0.001)
    assert (row.ios, row.bytes, row.runtime_ns) == (None, None, None)
    assert row.lat_mean_ns == pytest.approx(mean_us * 1000)
    assert row.p50_ns == pytest.approx(p50_us * 1000)
    found = imported(name)
    assert found.facts["fio_version"] == "fio-3.27"
    assert found.tool_version.startswith("v1.12.0-")
    assert found.runs[0].finished_at.startswith(taken)
    assert found.runs[0].steps[0].compared


def test_a_list_of_perfkits_samples_is_read_as_its_lines_are():
    samples = json.loads((CASES / "imports" / "perfkit-t4g-small.json").read_text())
    lines = "\n".join(json.dumps(sample) for sample in samples)
    assert read_imported(lines.encode(), name="x") == read_imported(
        json.dumps(samples, indent=2).encode(), name="x"
    )


def test_repetitions_and_machines_of_perfkit_are_runs_of_their_own():
    samples = json.loads((CASES / "imports" / "perfkit-t4g-small.json").read_text())
    again = json.loads(
        json.dumps(samples)
        .replace("|run_number:0|", "|run_number:1|")
        .replace("189.553043", "189.6")
        .replace("97051.0", "97075.0")
    )
    found = read_imported(json.dumps(samples + again).encode(), name="x")
    assert [run.steps[0].measurements[0].iops for run in found.runs] == [189.553043, 189.6]


def test_two_values_of_one_sample_of_perfkit_are_refused():
    samples = json.loads((CASES / "imports" / "perfkit-t4g-small.json").read_text())
    other = [{**samples[-1], "value": 200.0}]
    with pytest.raises(InvalidValue, match="sequential_write:write:iops"):
        read_imported(json.dumps(samples + other).encode(), name="x")


def test_a_label_that_is_not_of_its_job_gives_no_block():
    text = (CASES / "imports" / "perfkit-t4g-small.json").read_text()
    other = text.replace("|blocksize:512k|", "|blocksize:4k|")
    (run,) = read_imported(other.encode(), name="x").runs
    assert run.steps[0].measurements[0].block_bytes is None
    assert not run.steps[0].compared


@pytest.mark.parametrize(
    ("name", "direction", "kib", "ms", "printed_iops", "ios", "block", "mean_us", "p99_us"),
    [
        # 700416 KiB / 4 KiB = 175,104 reads in 1.921 s: 91,152
        ("fio-3.36-terse4.txt", "read", 700_416, 1921, 91_152, 175_104, 4096, 168.587388, 205),
        # 175,104 writes in 3.652 s are 47,947, fio says 47,951: it counts those that failed, too
        ("fio-3.36-terse4.txt", "write", 700_416, 3652, 47_951, None, 4096, 321.055559, 602),
        # 192672 KiB / 4 KiB = 48,168 in 31.166 s are 1,545; fio says 1,546
        ("fio-3.2-terse4.txt", "write", 192_672, 31_166, 1546, None, 4096, 10331.973087, 13_172),
        # 3508332 KiB / 4 KiB = 877,083 in 142.251 s: 6,165
        (
            "fio-3.23-terse4.txt", "write", 3_508_332, 142_251, 6165, 877_083, 4096, 2592.427453,
            8224,
        ),
        # 8 GiB / 4 MiB = 2,048 in 2.828 s: 724; gtod_reduce, so without latencies
        ("fio-3.12-terse5-read.txt", "read", 8_388_608, 2828, 724, 2048, 4 * MIB, None, None),
        ("fio-3.12-terse5-write.txt", "write", 8_388_608, 7375, 277, 2048, 4 * MIB, None, None),
        # 2000 KiB / 4 KiB = 500 in 2.501 s, in the last of its reports: 199
        ("fio-3.33-terse5-status.txt", "read", 2000, 2501, 199, 500, 4096, None, None),
    ],
)  # fmt: skip
def test_terse_lines_of_versions_4_and_5(
    name, direction, kib, ms, printed_iops, ios, block, mean_us, p99_us
):
    row = row_of(name, direction)
    assert (row.bytes, row.runtime_ns) == (kib * KIB, ms * 1_000_000)
    assert (row.ios, row.block_bytes) == (ios, block)
    assert int(row.iops) == printed_iops
    if mean_us is not None:
        assert row.lat_mean_ns == pytest.approx(mean_us * 1000)
        assert row.p99_ns == p99_us * 1000


ETCD = """etcd: (g=0): rw=write, bs=(R) 2300B-2300B, (W) 2300B-2300B, (T) 2300B-2300B, ioengine=sync, iodepth=1
fio-3.19
etcd: (groupid=0, jobs=1): err= 0: pid=4: Wed Jul 15 02:14:39 2020
  write: IOPS=858, BW=1928KiB/s (1974kB/s)(29.0MiB/15937msec); 0 zone resets
     lat (usec): min=1, max=14349, avg=103.52, stdev=145.00
  IO depths    : 1=200.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%
     issued rwts: total=0,13677,0,0 short=0,0,0,0 dropped=0,0,0,0
"""  # noqa: E501
CUT = """t: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=posixaio, iodepth=64
fio-3.{version}
t: (groupid=0, jobs=1): err= 0: pid=4: Mon Feb 15 04:06:35 2021
   read: IOPS=15.7k, BW=61.5MiB/s (64.5MB/s)(3070MiB/49937msec)
  IO depths    : 1=0.1%, 2=0.1%, 4=0.1%, 8=0.1%, 16=0.5%, 32=86.7%, >=64=12.4%
"""  # noqa: E501


def text_of_fio(text):
    (run,) = read_imported(text.encode(), name="x").runs
    return run.steps[0]


@pytest.mark.parametrize(("version", "fits"), [("3.0", True), ("3.19", True), ("3.26", False)])
def test_a_carry_that_fio_lost_before_3_26_is_no_contradiction(version, fits):
    """13,677 writes of 2,300 bytes are 30.0 MiB, printed as 29.0 (axboe/fio #1117)."""
    (output,) = parse_text(ETCD.replace("3.19", version).encode(), where="x")
    checks = audit_output(output, {}, end_known=False)
    assert next(check.holds for check in checks if check.name == "bytes") is fits


def test_ios_that_are_worked_out_of_a_rate_are_as_rough_as_it():
    """15.7k of 49.937 s are 784,011 I/Os, and 3070 MiB make 785,920."""
    (output,) = parse_text(CUT.format(version=33).encode(), where="x")
    assert all(check.holds is not False for check in audit_output(output, {}, end_known=False))


def test_text_from_the_code_of_a_page_is_read_without_its_blanks():
    indented = "".join(f"    {line}\n" for line in CUT.format(version=16).splitlines())
    plain = text_of_fio(CUT.format(version=16))
    assert text_of_fio(f"$ fio, on an old machine:\n{indented}") == plain


def test_the_depths_in_a_text_show_a_queue_that_was_not_filled():
    (doubt,) = text_of_fio(CUT.format(version=33)).warnings
    assert (doubt.code, "12 % of its I/Os" in doubt.message) == ("queue-not-filled", True)
