"""Real outputs of each tool, their figures recomputed here from what the tool prints."""

import json
import subprocess
from pathlib import Path

import pytest

from diskbench.importers.registry import read_imported

CASES = Path(__file__).parents[2] / "cases/imports"
MIB = 2**20


def imported(name):
    return read_imported((CASES / name).read_bytes(), name=name)


def rows(name, run=0):
    steps = imported(name).runs[run].steps
    return {
        (row.step, row.direction): row
        for step in steps
        for row in step.measurements
        if row.scope == "step"
    }


def about(value, share=1e-9):
    return pytest.approx(value, rel=share)


# --- fio


@pytest.mark.parametrize("version", [3, 4, 5])
def test_fios_terse_lines_give_what_their_fields_say(version):
    name = f"fio-3.33-terse{version}.txt"
    lines = [line.split(";") for line in (CASES / name).read_text().splitlines() if ";fio-" in line]
    found = rows(name)
    width = 47 if version == 5 else 41
    for fields in lines:
        for at, direction in ((5, "read"), (5 + width, "write")):
            kib, rate, iops, ms = map(int, fields[at : at + 4])
            if not kib:
                continue
            row = found[fields[2], direction]
            assert (row.bytes, row.runtime_ns) == (kib * 1024, ms * 1_000_000)
            assert iops <= row.iops < iops + 1
            assert row.bytes_per_s / 1024 == pytest.approx(rate, abs=1)
            assert row.clat_mean_ns == about(float(fields[at + 10]) * 1000)
            assert row.lat_mean_ns == about(float(fields[at + 34]) * 1000)
    assert found["rr", "read"].block_bytes == 4096
    assert found["w", "write"].block_bytes == 65536


def test_the_last_of_several_terse_reports_is_used():
    found = imported("fio-3.33-terse3-status.txt")
    assert [step.step.name for step in found.runs[0].steps] == ["rr", "rw", "w", "r2"]
    assert any("3 reports" in note for note in found.runs[0].notes)
    last = (CASES / "fio-3.33-terse3-status.txt").read_text().splitlines()[-1].split(";")
    assert rows("fio-3.33-terse3-status.txt")["r2", "read"].bytes == int(last[5]) * 1024


def test_fio_3s_text_has_exact_counts_and_bytes():
    found = rows("fio-3.33.txt")
    row = found["rr", "read"]
    assert (row.ios, row.bytes, row.runtime_ns) == (8846, 8846 * 4096, 2_002_000_000)
    assert (row.rw, row.iodepth, row.block_bytes) == ("randread", 1, 4096)
    assert (row.clat_min_ns, row.clat_max_ns) == (26_000, 18_483_000)
    assert row.clat_mean_ns == about(224_490)
    assert (row.p50_ns, row.p99_ns) == (67_000, 3_982_000)
    assert row.cpu_system == about(0.1364)
    assert found["w", "write"].ios == 3208
    assert found["r2", "read"].jobs == 2
    assert found["r2", "read"].clat_mean_ns == about(9249.32)
    assert found["r2", "read"].p50_ns == 1012
    assert imported("fio-3.33.txt").runs[0].local_time == "Mon Nov 23 06:16:02 2026"
    assert imported("fio-3.33.txt").runs[0].finished_at is None, "its zone is not known"


def test_the_last_of_several_reports_in_text_is_used():
    found = imported("fio-3.33-status.txt")
    assert [step.step.name for step in found.runs[0].steps] == ["rr", "rw", "w", "r2"]
    assert rows("fio-3.33-status.txt")["r2", "read"].runtime_ns == 2_007_000_000


def test_fio_2s_text_counts_in_1024():
    found = rows("fio-2.2.10.txt")
    row = found["test", "read"]
    assert (row.ios, row.bytes) == (786_347, 786_347 * 4096)
    assert abs(row.bytes - 3071.7 * MIB) < 0.1 * MIB
    assert row.iops == pytest.approx(13887, abs=1)
    assert found["test", "write"].bytes == 262_229 * 4096
    grouped = rows("fio-2.1.9.txt")
    read = grouped["random-read-4k", "read"]
    assert (read.ios, read.jobs, read.p99_ns) == (60_902_872, 64, 1_032_000)
    assert read.bytes_per_s / 1024 == pytest.approx(406_018, abs=2)
    write = grouped["sequential-write-128k", "write"]
    assert (write.bytes, write.clat_mean_ns) == (2_783_631 * 131_072, about(13_764_130))


def test_text_without_its_head_has_no_block_and_printed_bytes():
    found = rows("fio-3-without-head.txt")
    read = found["rawstor", "read"]
    assert (read.ios, read.bytes, read.rw) == (703_618, 2749 * MIB, None)
    assert found["rawstor", "write"].ios == 702_505


@pytest.mark.slow
@pytest.mark.parametrize("form", ["normal", "terse-3", "terse-4", "terse-5"])
def test_the_same_run_in_json_and_in_another_form_gives_the_same_rows(form, tmp_path):
    kind, _, version = form.partition("-")
    out = tmp_path / "out"
    subprocess.run(
        ["fio", f"--output-format={kind},json", f"--terse-version={version or 3}",
         f"--output={out}",
         f"--directory={tmp_path}", "--size=1m", "--ioengine=psync", "--name=a", "--rw=randrw",
         "--bs=8k", "--name=b", "--stonewall", "--rw=write", "--bs=64k", "--numjobs=2",
         "--group_reporting"],
        start_new_session=True, check=True, capture_output=True, timeout=240,
    )  # fmt: skip
    text = out.read_text()
    begin, end = text.index("{"), text.rindex("}") + 1
    document = json.loads(text[begin:end])
    other = (text[:begin] + text[end:]).encode()
    one = read_imported(text[begin:end].encode(), name="x.json")
    two = read_imported(other, name="x.txt")
    assert one.kind == "fio-json"
    assert two.kind == ("fio-text" if kind == "normal" else "fio-terse")
    assert len(document["jobs"]) == 2
    pairs = list(zip(one.runs[0].steps, two.runs[0].steps, strict=True))
    for ours, theirs in pairs:
        assert ours.step.name == theirs.step.name
        left, right = (
            {row.direction: row for row in step.measurements if row.scope == "step"}
            for step in (ours, theirs)
        )
        assert left.keys() == right.keys()
        for direction, row in left.items():
            that = right[direction]
            assert (row.bytes, row.runtime_ns) == (that.bytes, that.runtime_ns)
            assert that.ios == row.ios
            assert that.clat_mean_ns == pytest.approx(row.clat_mean_ns, abs=20)
            assert that.clat_max_ns == pytest.approx(row.clat_max_ns, abs=1000)


# --- bonnie++


@pytest.mark.parametrize("name", ["bonnie-1.03.txt", "bonnie-1.03.csv"])
def test_bonnie_1_03_counts_in_kib(name):
    found = rows(name)
    write = found["block-write", "write"]
    assert (write.bytes, write.ios) == (2 * 2**30, 2 * 2**30 // 8192)
    assert write.bytes_per_s == about(28_554 * 1024)
    assert write.runtime_ns / 1e9 == about(2 * MIB / 28_554, 1e-6)
    assert found["block-read", "read"].bytes_per_s == about(50_313 * 1024)
    assert found["rewrite", "write"].bytes_per_s == about(16_580 * 1024)
    assert found["char-read", "read"].bytes_per_s == 29_447 * 1024
    assert found["seeks", "read"].iops == 185.9
    assert len(found) == 6, "files are no rows"


def test_bonnie_1_97_has_longest_latencies_and_a_run_a_line():
    found = imported("bonnie-1.97.csv")
    assert (len(found.runs), found.tool_version) == (2, "1.97")
    second = rows("bonnie-1.97.csv", run=1)
    assert second["block-write", "write"].bytes_per_s == about(85_809 * 1024)
    assert second["block-write", "write"].lat_max_ns == 1_945_000_000
    assert second["block-write", "write"].bytes == 8196 * MIB
    table = rows("bonnie-1.97.txt")
    assert table["block-read", "read"].bytes_per_s == about(495_890 * 1024)
    assert table["seeks", "read"].lat_max_ns == 228_000_000


def test_bonnie_2_00s_table_scales_by_1024():
    csv = rows("bonnie-2.00a.txt")
    assert csv["block-write", "write"].bytes_per_s == about(698_469 * 1024)
    assert ("block-read", "read") not in csv, "+++++ is not a figure"
    table = rows("bonnie-2.00a-btrfs.txt")
    assert table["block-write", "write"].bytes_per_s == about(1.4 * 2**30)
    assert table["rewrite", "write"].bytes_per_s == about(117 * MIB)
    assert table["char-write", "write"].bytes_per_s == 376 * 1024
    # what its CSV says in KiB/s is what its table says: 698469 and 682m
    assert pytest.approx(682, abs=0.5) == 698_469 / 1024


# --- dd, hdparm


def test_dd_is_bytes_by_seconds():
    (row,) = rows("dd-write-4k.txt").values()
    assert (row.bytes, row.ios, row.block_bytes) == (83_886_080, 20_480, 4096)
    assert row.bytes_per_s / 1e6 == pytest.approx(499, abs=0.5)
    assert row.direction == "mixed", "dd does not say what it wrote to"
    (read,) = rows("dd-read-1m.txt").values()
    assert (read.direction, read.ios, read.block_bytes) == ("read", 80, MIB)
    assert read.bytes_per_s / 1e9 == pytest.approx(2.9, abs=0.05)
    (alone,) = rows("dd-last-line.txt").values()
    assert (alone.bytes, alone.block_bytes) == (21_000, None)
    assert alone.bytes_per_s / 1e6 == pytest.approx(14.6, abs=0.05)


@pytest.mark.parametrize(
    ("name", "cached", "disk"),
    [
        ("hdparm-sata.txt", 6869.01, 121.20),
        ("hdparm-cloud.txt", 9423.90, 392.62),
        ("hdparm-2003.txt", 213.33, 14.78),
        ("hdparm-ssd.txt", 10143.33, 160.89),
    ],
)
def test_hdparms_megabytes_are_mib(name, cached, disk):
    found = rows(name)
    assert found["cached-reads", "read"].bytes_per_s == about(cached * MIB, 1e-6)
    assert found["buffered-reads", "read"].bytes_per_s == about(disk * MIB, 1e-6)
    assert found["buffered-reads", "read"].block_bytes == 2 * MIB


# --- diskspd, vdbench, PerfKitBenchmarker


def test_diskspds_text_has_counts_latencies_and_a_date():
    found = rows("diskspd-2.0-text.txt")
    read, write = found["timespan-1", "read"], found["timespan-1", "write"]
    assert (read.ios, read.bytes, read.block_bytes) == (25_060, 25_060 * 4096, 4096)
    assert (write.ios, write.bytes, write.rw) == (10_626, 43_524_096, "randwrite")
    assert read.iops == pytest.approx(834.98, abs=0.3)
    assert write.bytes_per_s / MIB == pytest.approx(1.38, abs=0.01)
    assert (read.lat_mean_ns, read.p99_ns, read.p99_9_ns) == about((272e3, 877e3, 1608e3))
    assert (read.lat_min_ns, write.lat_max_ns) == (36_000, 35_257_000)
    assert imported("diskspd-2.0-text.txt").runs[0].started_at.startswith("2021-04-16T19:03:38")


def test_diskspd_2_2_writes_its_block_in_kib():
    (row,) = rows("diskspd-2.2.0-text.txt").values()
    assert (row.direction, row.block_bytes, row.iodepth, row.jobs) == ("write", 4096, 3, 160)
    assert row.bytes == 2_017_883_745 * 4096
    assert row.iops == pytest.approx(2_242_082.85, rel=1e-4)


def test_vdbenchs_average_is_rate_by_time():
    (row,) = rows("vdbench-50407.txt").values()
    assert (row.step, row.direction, row.ios, row.bytes) == ("rd1", "mixed", None, None)
    assert (row.iops, row.bytes_per_s) == about((104.5, 104.5 * 1024))
    assert row.runtime_ns == 4_000_000_000, "four intervals of a second"
    assert (row.lat_mean_ns, row.lat_max_ns) == about((12e3, 120e3))
    assert imported("vdbench-50407.txt").runs[0].local_time == "Jan 24, 2019"


def test_perfkits_samples_are_rates_of_a_date():
    (row,) = rows("perfkitbenchmarker_results.json").values()
    assert (row.step, row.iops, row.bytes_per_s) == ("sequential_write", 133, 68_118 * 1024)
    assert row.lat_mean_ns == about(477_734_840)
    assert (row.lat_min_ns, row.lat_max_ns, row.p50_ns) == (189_263_000, 869_891_000, 444_416_000)
    assert row.p99_ns is None, "fewer I/Os than stand behind a p99"
    assert imported("perfkitbenchmarker_results.json").runs[0].finished_at.startswith("2019-04-09")
