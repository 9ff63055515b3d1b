"""More real outputs of each tool; what is expected was worked out by hand from what it printed."""

import json
from pathlib import Path

import pytest

from diskbench.importers.registry import read_imported
from diskbench.store.import_sources import read_sources

CASES = Path(__file__).parents[2] / "cases"
KIB, MIB, GIB = 2**10, 2**20, 2**30


def rows(name, run=0):
    data = (CASES / "imports" / name).read_bytes()
    found = read_imported(data, name=name, run_id_of=str)
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


def test_bonnies_table_and_its_csv_say_the_same():
    """50.6m = 51,776 KiB and 22.2m = 22,717 KiB, 39.4m = 40,308 KiB."""
    text = (CASES / "imports/bonnie-2.00a-wsl.txt").read_text()
    table = "".join(line for line in text.splitlines(keepends=True) if "," not in line)
    found = read_imported(table.encode(), name="x", run_id_of=str).runs[0].steps
    rates = {step.step.name: step.measurements[0].bytes_per_s for step in found}
    assert rates["block-write"] == pytest.approx(51_776 * KIB, rel=0.001)
    assert rates["rewrite"] == pytest.approx(22_717 * KIB, rel=0.003)
    assert rates["block-read"] == pytest.approx(40_308 * KIB, rel=0.002)


@pytest.mark.parametrize(
    ("name", "direction", "size", "ios", "block", "mb_per_s"),
    [
        ("dd-bsd.txt", "write", 1_021_592_274, 975, None, 2.124985),  # 974 whole and a part
        ("dd-2003.txt", "write", 10 * MIB, 10, MIB, 368.981986),
        ("dd-fdatasync.txt", "write", 1024 * MIB, 1024, MIB, 199.0),
        ("dd-microseconds.txt", "mixed", 512, 1, 512, 8.4),  # in 60.645 µs
    ],
)
def test_last_lines_of_dd_of_others(name, direction, size, ios, block, mb_per_s):
    (row,) = rows(name).values()
    assert (row.direction, row.bytes, row.ios, row.block_bytes) == (direction, size, ios, block)
    assert row.bytes_per_s / 1e6 == pytest.approx(mb_per_s, rel=0.01)


def test_hdparm_of_an_ssd():
    """20266 MB in 2.00 s and 484 MB in 3.01 s, in pieces of 2 MiB."""
    found = rows("hdparm-ssd.txt")
    cached, disk = found["cached-reads", "read"], found["buffered-reads", "read"]
    assert (cached.bytes, disk.bytes, disk.ios) == (20_266 * MIB, 484 * MIB, 242)
    assert disk.bytes_per_s == pytest.approx(160.89 * MIB)
    assert disk.runtime_ns / 1e9 == pytest.approx(3.01, abs=0.005)


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
    run = read_imported(source.data, name=source.name, run_id_of=str).runs[0]
    (row,) = (r for s in run.steps for r in s.measurements if r.scope == "step")
    # 360 I/Os of 4 KiB are the 1,440 KiB of a floppy, in 114.153 s
    assert (row.ios, row.bytes, row.runtime_ns) == (360, 1440 * KIB, 114_153_000_000)
    assert row.iops == pytest.approx(3.153662)
    assert run.finished_at.startswith("2019-12-16T00:04:46.931")
