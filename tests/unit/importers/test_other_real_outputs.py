"""Real outputs found in public repositories: diskspd's XML, PerfKitBenchmarker, fio's terse lines;
what is expected was worked out by hand from what each printed."""

import json
from pathlib import Path

import pytest

from diskbench.errors import InvalidValue
from diskbench.importers.registry import read_imported

CASES = Path(__file__).parents[2] / "cases/imports"
KIB, MIB = 2**10, 2**20


def imported(name):
    return read_imported((CASES / name).read_bytes(), name=name, run_id_of=str)


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
    path = CASES / "refused/diskspd-2.3.0-no-result.xml"
    with pytest.raises(InvalidValue) as refused:
        read_imported(path.read_bytes(), name=path.name, run_id_of=str)
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
    samples = json.loads((CASES / "perfkit-t4g-small.json").read_text())
    lines = "\n".join(json.dumps(sample) for sample in samples)
    assert read_imported(lines.encode(), name="x", run_id_of=str) == read_imported(
        json.dumps(samples, indent=2).encode(), name="x", run_id_of=str
    )


def test_repetitions_and_machines_of_perfkit_are_runs_of_their_own():
    samples = json.loads((CASES / "perfkit-t4g-small.json").read_text())
    again = json.loads(
        json.dumps(samples)
        .replace("|run_number:0|", "|run_number:1|")
        .replace("189.553043", "189.6")
        .replace("97051.0", "97075.0")
    )
    found = read_imported(json.dumps(samples + again).encode(), name="x", run_id_of=str)
    assert [run.steps[0].measurements[0].iops for run in found.runs] == [189.553043, 189.6]
    assert [run.steps[0].measurements[0].run_id for run in found.runs] == ["0", "1"]


def test_two_values_of_one_sample_of_perfkit_are_refused():
    samples = json.loads((CASES / "perfkit-t4g-small.json").read_text())
    other = [{**samples[-1], "value": 200.0}]
    with pytest.raises(InvalidValue, match="sequential_write:write:iops"):
        read_imported(json.dumps(samples + other).encode(), name="x", run_id_of=str)


def test_a_label_that_is_not_of_its_job_gives_no_block():
    text = (CASES / "perfkit-t4g-small.json").read_text()
    other = text.replace("|blocksize:512k|", "|blocksize:4k|")
    (run,) = read_imported(other.encode(), name="x", run_id_of=str).runs
    assert run.steps[0].measurements[0].block_bytes is None
    assert not run.steps[0].compared


@pytest.mark.parametrize(
    ("name", "direction", "kib", "ms", "printed_iops", "ios", "block", "mean_us", "p99_us"),
    [
        # 700416 KiB / 4 KiB = 175,104 reads in 1.921 s: 91,152
        ("fio-3.36-terse4.txt", "read", 700_416, 1921, 91_152, 175_104, 4096, 168.587388, 205),
        # 175,104 writes in 3.652 s are 47,947, fio says 47,951: it counts those that failed, too
        ("fio-3.36-terse4.txt", "write", 700_416, 3652, 47_951, None, None, 321.055559, 602),
        # 192672 KiB / 4 KiB = 48,168 in 31.166 s are 1,545; fio says 1,546
        ("fio-3.2-terse4.txt", "write", 192_672, 31_166, 1546, None, None, 10331.973087, 13_172),
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
