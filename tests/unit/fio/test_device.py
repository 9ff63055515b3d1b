"""What the device did beside fio: bounds from the counters that fio prints of it."""

from dataclasses import replace

import pytest
from tests.rigs.fio_reports import FORMS, Disk, Told, as_json, text

from diskbench.fio.device import device_counts
from diskbench.importers.fio_report import read_reports
from diskbench.importers.fio_runs import split_runs

KIND = {"text": "fio-text", "text without head": "fio-text", "terse": "fio-terse"}
RANDOM = {"rw": "randread"}
IN_SEQUENCE = {"rw": "read"}


def counts(jobs, disks, options=RANDOM, *, form="json", step=0):
    data = FORMS[form](jobs, disks).encode()
    (output,) = read_reports(KIND.get(form, "fio-json"), data, where="x")
    ((*steps,),) = split_runs([output])
    return device_counts(steps[step][1], [options])


@pytest.mark.parametrize("form", FORMS)
def test_the_counters_of_every_report_of_fio_are_read(form):
    disks = [Disk(reads=100_000, read_merges=70_000)]
    count = counts([Told()], disks, form=form)["read"]
    assert (count.requests, count.ios) == (170_000, 180_000)
    assert count.share == pytest.approx(17 / 18)


@pytest.mark.parametrize(
    ("reads", "merges", "share"),
    [
        (180_020, 0, 1.0), (90_000, 90_000, 1.0), (171_000, 0, 1.0), (168_000, 0, 0.933),
        (18_000, 0, 0.1), (0, 0, 0.0), (360_000, 0, 1.0), (360_100, 0, None),
    ],
)  # fmt: skip
def test_requests_and_merges_are_what_the_device_did_unless_others_used_it(reads, merges, share):
    count = counts([Told()], [Disk(reads=reads, read_merges=merges)])["read"]
    assert count.share == (None if share is None else pytest.approx(share, abs=1e-3))


def test_blocks_that_a_driver_may_split_are_no_proof_by_requests():
    jobs, disk = [Told(block=1 << 20, iops=100)], Disk(reads=6000, writes=0)
    assert counts(jobs, [disk])["read"].share is None
    moved = replace(disk, read_bytes=6000 << 20, write_bytes=0)
    assert counts(jobs, [moved])["read"].share == 1.0
    half = replace(disk, read_bytes=3000 << 20, write_bytes=0)
    assert counts(jobs, [half])["read"].share == 0.5


def test_reads_in_sequence_may_be_of_a_read_ahead():
    jobs = [Told(rw="read", depth=1, iops=30_000)]
    ahead = counts(jobs, [Disk(reads=56_250)], IN_SEQUENCE)["read"]
    assert (ahead.share, ahead.gathered_bytes) == (None, 131_072)
    memory = counts(jobs, [Disk(reads=100)], IN_SEQUENCE)["read"]
    assert memory.is_bound
    assert memory.share < 0.02
    direct = counts(jobs, [Disk(reads=56_250)], {"rw": "read", "direct": "1"})["read"]
    assert direct.share == pytest.approx(1 / 32)
    unknown = counts(jobs, [Disk(reads=56_250)], {})["read"]
    assert (unknown.share, unknown.gathered_bytes) == (None, None)


def test_a_disk_below_another_is_not_counted_twice():
    volume = Disk("dm-0", reads=90_000, of=("sda",))
    assert counts([Told()], [volume, Disk("sda", reads=90_010)])["read"].share == 0.5
    both = [volume, Disk("md0", reads=90_000, of=("sda", "sdb")), Disk("sda", reads=45_000)]
    assert counts([Told()], both) == {}, "one may lie on the other"
    apart = [Disk("sda", reads=90_000), Disk("sdb", reads=90_000)]
    assert counts([Told()], apart)["read"].share == 1.0
    assert counts([Told()], []) == {}


@pytest.mark.parametrize(
    ("reads", "shares", "of_all"),
    [
        (360_040, [1.0, 1.0], 1.0), (200_000, [None, None], 200_000 / 360_000),
        (18_000, [0.1, 0.1], 0.05), (351_000, [1.0, 1.0], 0.975),
    ],
)  # fmt: skip
def test_of_several_steps_each_did_what_the_others_leave(reads, shares, of_all):
    jobs = [Told(name="a"), Told(name="b", group=1)]
    found = [counts(jobs, [Disk(reads=reads)], step=at)["read"] for at in (0, 1)]
    assert [count.share for count in found] == shares
    assert [count.of_all for count in found] == pytest.approx([of_all] * 2, abs=1e-3)


def test_a_step_in_sequence_beside_leaves_open_what_the_others_did():
    jobs = [Told(name="a", options={}), Told(name="b", rw="read", iops=30_000, group=1, options={})]
    found = counts(jobs, [Disk(reads=236_250)])["read"]
    assert (found.share, found.of_all) == (None, 1.0), "180,000 at random, 56,250 of the read-ahead"


def test_a_step_in_another_direction_leaves_the_count_as_it_is():
    jobs = [Told(name="a"), Told(name="b", rw="randwrite", group=1)]
    found = counts(jobs, [Disk(reads=180_000, writes=90_000)])
    assert found["read"].share == 1.0
    assert found["read"].of_all is None


def test_each_process_in_a_text_has_its_own_counters():
    data = "\n".join(text([Told(pid=p)], [Disk(reads=n)]) for p, n in ((1, 180_000), (2, 18_000)))
    runs = split_runs(read_reports("fio-text", data.encode(), where="x"))
    shares = [device_counts(part, [RANDOM])["read"].share for ((_, part),) in runs]
    assert shares == [1.0, 0.1]


def test_sectors_count_where_fio_prints_them():
    disk = Disk(reads=10, read_bytes=180_000 * 4096, write_bytes=0)
    data = text([Told()], [disk]).encode()
    (output,) = read_reports("fio-text", data, where="x")
    assert device_counts(output, [RANDOM])["read"].share == 1.0
    assert "sectors=1440000/0" in data.decode()
    assert '"read_sectors": 1440000' in as_json([Told()], [disk])


@pytest.mark.parametrize(("seconds", "share"), [(1, 1.0), (60, 0.85)])
def test_what_a_short_step_did_after_fios_last_look_is_not_missing(seconds, share):
    reads = 3000 * seconds
    told = Told(iops=3000, seconds=seconds)
    count = counts([told], [Disk(reads=round(0.85 * reads))])["read"]
    assert count.share == pytest.approx(share, abs=1e-3)
