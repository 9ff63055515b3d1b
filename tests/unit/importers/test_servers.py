"""Outputs of `fio --client`: what several servers did, each once, and in which time."""

from pathlib import Path

import pytest

from diskbench.errors import FioOutputUnreadable, InvalidValue
from diskbench.importers.registry import read_imported

CASES = Path(__file__).parents[2] / "cases/imports"
KIB, MIB, GIB = 2**10, 2**20, 2**30


def imported(name):
    return read_imported((CASES / name).read_bytes(), name=name)


def rows(run):
    return {
        (row.step, row.direction): row
        for step in run.steps
        for row in step.measurements
        if row.scope == "step"
    }


@pytest.mark.parametrize("direction", ["read", "write"])
def test_two_servers_text_is_one_step_of_two_jobs(direction):
    """1,024 I/Os of each server, in 2,558 and 2,560 ms; the sum of fio says 800 IOPS."""
    (run,) = imported("fio-3.33-client.txt").runs
    row = rows(run)["r", direction]
    assert (row.ios, row.bytes, row.jobs) == (2048, 8 * MIB, 2)
    assert row.runtime_ns == 2_560_000_000
    assert row.iops == pytest.approx(2048 / 2.560)
    assert (row.rw, row.block_bytes, row.iodepth) == ("randrw", 4096, 1)
    assert imported("fio-3.33-client.txt").tool_version == "fio-3.33", "its servers' version"


def test_two_servers_terse_lines_and_their_sum_are_counted_once():
    """4,072 + 4,064 KiB read; the line `All clients` says 8,136 KiB in 2,647 ms."""
    (run,) = imported("fio-3.33-client-terse5.txt").runs
    row = rows(run)["r", "read"]
    assert (row.ios, row.bytes, row.jobs) == (2034, 8136 * KIB, 2)
    assert row.iops == pytest.approx(2034 / 2.647)


@pytest.mark.parametrize(
    ("name", "ios", "gib", "ms", "jobs", "iops", "mean_us", "block"),
    [
        # 9033447 / 300.044 s = 30,107; 29.4 GiB/s
        ("fio-client-2020.txt", 9_033_447, 8822, 300_044, 16, 30_107, 16_989.20, MIB),
        # 52005355 / 120.095 s = 433,035; 1692 MiB/s
        ("fio-client-2024.txt", 52_005_355, 198, 120_095, 6, 433_035, 7_086.62, 4 * KIB),
    ],
)
def test_the_sum_of_all_clients_alone_is_the_result(name, ios, gib, ms, jobs, iops, mean_us, block):
    (run,) = imported(name).runs
    row = rows(run)["All clients", "read"]
    assert (row.ios, row.runtime_ns, row.jobs) == (ios, ms * 1_000_000, jobs)
    assert row.iops == pytest.approx(iops, abs=1)
    assert row.bytes == pytest.approx(gib * GIB, rel=0.005)
    assert row.lat_mean_ns == pytest.approx(mean_us * 1000)
    assert row.block_bytes == block, "what its counts make: the sum names no option"
    assert row.rw is None


def test_each_sum_in_a_log_counts():
    """A write of 60 GiB and two reads; none of them is an interim report of another. Of the two
    loads each is a step, and the second read is a second run."""
    found = imported("fio-client-2023-three-runs.txt")
    assert [list(rows(run)) for run in found.runs] == [
        [("All clients-write", "write"), ("All clients-read", "read")],
        [("All clients-read", "read")],
    ]
    figures = [row for run in found.runs for row in rows(run).values()]
    assert [row.iops for row in figures] == [pytest.approx(v) for v in (968, 11_200, 15_000)]
    assert [row.runtime_ns // 10**6 for row in figures] == [507_636, 120_010, 120_012]
    assert [row.ios for row in figures] == [None] * 3, "fio printed no count here"
    assert figures[0].bytes == 60 * GIB
    assert found.notes == ()


def test_json_of_two_servers_has_the_options_of_each():
    """fio 3.43 lists the global options of each server: 217,754 + 217,740 reads in 2,001 ms."""
    found = imported("fio-3.43-client.json")
    (run,) = found.runs
    row = rows(run)["j", "read"]
    assert (row.ios, row.bytes, row.jobs) == (435_494, 435_494 * 4096, 4)
    assert row.iops == pytest.approx(217_638.18091)
    assert (row.rw, row.block_bytes, row.iodepth) == ("randread", 4096, 1)


def test_a_clients_time_is_that_of_its_begin():
    """Its jobs started at 1790604072.888, after the document's own 1790604071."""
    (run,) = imported("fio-3.43-client.json").runs
    assert run.started_at == "2026-09-28T14:01:12.888000+00:00"
    assert run.finished_at is None


def test_json_of_fio_2_6_with_the_sum_alone():
    """273,369 I/Os in 121.363 s are 2,252.49 a second; 2,021,176 KiB at 16,653 KiB/s."""
    (run,) = imported("fio-2.6-client.json").runs
    row = rows(run)["All clients", "mixed"]
    assert (row.ios, row.bytes) == (273_369, 2_021_176 * KIB)
    assert row.iops == pytest.approx(2252.49, abs=0.005)
    assert row.bytes_per_s == pytest.approx(16_653 * KIB, rel=1e-4)
    assert (row.lat_mean_ns, row.lat_max_ns) == pytest.approx((1_782_920, 3_781_314_000))


@pytest.mark.parametrize("name", ["fio-3.33-client.txt", "fio-3.33-client-terse5.txt"])
def test_an_output_without_one_of_its_servers_is_refused(name):
    lines = (CASES / name).read_text().splitlines(keepends=True)
    begin = ("r: (groupid", "5;fio-3.33;r;")
    begins = [at for at, line in enumerate(lines) if line.startswith(begin)]
    assert len(begins) == 2
    cut = "".join([*lines[: begins[0]], *lines[begins[1] :]])
    with pytest.raises(InvalidValue) as refused:
        read_imported(cut.encode(), name=name)
    assert isinstance(refused.value.__cause__, FioOutputUnreadable)
    assert "All clients" in refused.value.message


def test_servers_whose_jobs_of_one_name_differ_have_no_options_in_common():
    """1,024 I/Os of 8 KiB and 1,024 of 4 KiB."""
    text = (CASES / "fio-3.33-client.txt").read_text()
    for old, new, count in (
        ("(R) 4096B-4096B, (W) 4096B-4096B", "(R) 8192B-8192B, (W) 8192B-8192B", 1),
        ("(4096KiB/2558msec)", "(8192KiB/2558msec)", 2),
        ("(8192KiB/2560msec)", "(12.0MiB/2560msec)", 2),
    ):
        assert old in text
        text = text.replace(old, new, count)
    (run,) = read_imported(text.encode(), name="x").runs
    for row in rows(run).values():
        assert (row.ios, row.bytes) == (2048, 12 * MIB)
        assert (row.rw, row.block_bytes) == (None, None)


def test_a_text_that_was_cut_before_the_sum_of_its_servers_says_so():
    text = (CASES / "fio-3.33-client.txt").read_text()
    whole, cut = imported("fio-3.33-client.txt"), text[: text.index("All clients")]
    assert whole.runs[0].notes == ()
    found = read_imported(cut.encode(), name="x")
    assert [("2 servers" in note, "All clients" in note) for note in found.runs[0].notes] == [
        (True, True)
    ]
