"""What the device did beside fio, by the counters that fio prints of it; and if a step was alone
on its disk: both sides of each limit, and what cannot be told."""

from dataclasses import replace

import pytest
from tests.rigs.fio_reports import FORMS, Disk, Told, as_json, text

from diskbench.fio.company import company_doubts
from diskbench.fio.declared import Case
from diskbench.fio.device import device_counts
from diskbench.fio.reported import DirectionStats, FioJob, FioOutput
from diskbench.importers.fio_report import read_reports
from diskbench.importers.fio_runs import split_runs
from diskbench.model.facts import HostFacts, MountFacts
from diskbench.model.spec import Step

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
    count = counts([Told()], [Disk(reads=100_000, read_merges=70_000)], form=form)["read"]
    assert (count.requests, count.ios) == (170_000, 180_000)
    assert count.share == pytest.approx(17 / 18)


def test_requests_and_merges_are_the_devices_unless_others_used_it_or_a_driver_may_split_blocks():
    def share(reads, merges=0):
        return counts([Told()], [Disk(reads=reads, read_merges=merges)])["read"].share

    assert share(90_000, 90_000) == 1.0
    shares = {180_020: 1.0, 171_000: 1.0, 168_000: 0.933, 18_000: 0.1, 0: 0.0, 360_000: 1.0}
    for reads, wanted in shares.items():
        assert share(reads) == pytest.approx(wanted, abs=1e-3), reads
    assert share(360_100) is None
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


def test_a_step_beside_in_sequence_leaves_the_share_open_and_one_of_writes_leaves_it():
    jobs = [Told(name="a", options={}), Told(name="b", rw="read", iops=30_000, group=1, options={})]
    found = counts(jobs, [Disk(reads=236_250)])["read"]
    assert (found.share, found.of_all) == (None, 1.0), "180,000 at random, 56,250 of the read-ahead"
    jobs = [Told(name="a"), Told(name="b", rw="randwrite", group=1)]
    found = counts(jobs, [Disk(reads=180_000, writes=90_000)])
    assert (found["read"].share, found["read"].of_all) == (1.0, None)


def test_in_a_text_each_process_has_its_own_counters_and_sectors_count():
    data = "\n".join(text([Told(pid=p)], [Disk(reads=n)]) for p, n in ((1, 180_000), (2, 18_000)))
    runs = split_runs(read_reports("fio-text", data.encode(), where="x"))
    assert [device_counts(part, [RANDOM])["read"].share for ((_, part),) in runs] == [1.0, 0.1]
    disk = Disk(reads=10, read_bytes=180_000 * 4096, write_bytes=0)
    data = text([Told()], [disk]).encode()
    (output,) = read_reports("fio-text", data, where="x")
    assert device_counts(output, [RANDOM])["read"].share == 1.0
    assert "sectors=1440000/0" in data.decode()
    assert '"read_sectors": 1440000' in as_json([Told()], [disk])


@pytest.mark.parametrize(("seconds", "share"), [(1, 1.0), (60, 0.85)])
def test_what_a_short_step_did_after_fios_last_look_is_not_missing(seconds, share):
    reads = 3000 * seconds
    count = counts([Told(iops=3000, seconds=seconds)], [Disk(reads=round(0.85 * reads))])["read"]
    assert count.share == pytest.approx(share, abs=1e-3)


# --- Company


SECONDS = 20
BLOCK = 4096


def step(more="", role="measure"):
    job = f"[a]\nfilename=/dev/sdz\nrw=randrw\nbs=4k\ndirect=1\n{more}\n"
    return Step(index=0, name="a", role=role, job=job, expected_s=SECONDS)


def output(syncs=0):
    directions = {"sync": DirectionStats(ios=syncs, bytes=0, runtime_ns=1)} if syncs else {}
    one = FioJob(name="a", index=0, group=0, error=0, options={}, directions=directions)
    return FioOutput(where="fio.json", version="fio-3.33", jobs=(one,), options={})


def files(fio_reads=0, fio_writes=0, reads=0, writes=0, seconds=SECONDS, block=BLOCK, lock=""):
    """Evidence of steady rates (I/Os a second): those of fio, and those of its disk."""
    live, samples = [], []
    for at in range(1, seconds + 1):
        ways = [(fio_reads * at, block), (fio_writes * at, block), (0, 0)]
        told = [f"{n}\t{n * size}\t0\t0" for n, size in ways]
        live.append(f"{1000 + at + 0.5:.3f}\t{at}\t" + "\t".join(told))
    for at in range(seconds + 3):
        r, w = reads * at, writes * at
        disk = f"8 0 sda {r} 0 {r * block // 512} 0 {w} 0 {w * block // 512} 0 0 0 0"
        samples.append(f"@ {1000 + at}\n{disk}")
    told = {"live.tsv": [*live, "#", "~"], "samples.txt": samples, "lock.txt": [lock]}
    return {name: "\n".join(lines).encode() for name, lines in told.items()}


def codes(files, more="", syncs=0, role="measure", **facts):
    case = Case(step(more, role), (), output(syncs), HostFacts(**facts), files=files)
    return [one.code for one in company_doubts(case)]


FILE = "filename=/mnt/x/file\n"
OTHERS = ["other-io"]
BTRFS = MountFacts(mount_point="/m", source="/dev/sdz", fstype="btrfs", options="")


@pytest.mark.parametrize(
    ("moved", "more", "about", "told"),
    [
        ({"fio_reads": 1000, "reads": 1000}, "", {}, []),
        ({"fio_reads": 1000, "reads": 1090}, "", {}, []),  # a tenth more is allowed
        ({"fio_reads": 1000, "reads": 1120}, "", {}, OTHERS),
        ({"fio_reads": 1000, "reads": 4000}, "", {}, OTHERS),
        ({"fio_reads": 1000, "reads": 1000, "writes": 500}, "", {}, OTHERS),
        ({"fio_reads": 1000, "reads": 1000, "writes": 5}, "", {}, []),
        ({"fio_reads": 10, "reads": 14}, "", {}, []),  # a quiet machine's own work
        # a filesystem writes for itself, and more for each sync; a raw device does not
        ({"fio_writes": 500, "writes": 700}, FILE, {}, []),
        ({"fio_writes": 500, "writes": 1500}, FILE, {}, OTHERS),
        ({"fio_writes": 500, "writes": 700}, "", {}, OTHERS),
        ({"fio_writes": 500, "writes": 2500}, f"{FILE}fdatasync=1", {"syncs": 500 * SECONDS}, []),
        ({"fio_writes": 500, "writes": 2500}, FILE, {}, OTHERS),
        ({"fio_writes": 500, "writes": 5000}, "filename=/m/file", {"mount": BTRFS}, []),
        # through a device mapper writes may double
        ({"fio_writes": 1000, "writes": 1900}, "", {"layers": ("dm-0",)}, []),
        ({"fio_writes": 1000, "writes": 1900}, "", {}, OTHERS),
        *(
            ({"fio_reads": 100, "fio_writes": 100, "reads": 900, "writes": 900}, more, {}, [])
            for more in ("direct=0", "ioengine=null", "ioengine=filecreate")
        ),
    ],
)
def test_what_fio_cannot_have_caused_is_somebody_elses(moved, more, about, told):
    assert codes(files(**moved), more, **about) == told


def test_small_requests_beside_large_ones_are_seen_by_their_number():
    mib = 2**20
    found = files(fio_reads=100, reads=100, block=mib)
    assert codes(found, "bs=1m") == []
    # 100 I/Os of 1 MiB are at most 3,200 requests; the disk did more than a tenth beyond them.
    crowd = files(fio_reads=100, reads=3600, block=mib // 36)
    crowd["live.tsv"] = found["live.tsv"]
    assert codes(crowd, "bs=1m") == ["other-io"]


def test_without_samples_progress_or_time_it_is_silent_and_after_a_ramp_it_counts_anew():
    whole = files(fio_reads=100, reads=900)
    for name in ("live.tsv", "samples.txt"):
        assert codes({**whole, name: b""}) == []
        assert codes({**whole, name: b"\xff\x00 nonsense\n"}) == []
    assert codes(files(fio_reads=100, reads=900, seconds=2)) == []
    assert codes(whole, role="fill") == []
    assert codes({}) == []
    found = files(fio_reads=1000, reads=1000)
    first = b"1000.900\t1\t99999999\t1\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\n"
    assert codes({**found, "live.tsv": first + found["live.tsv"]}) == []


def test_what_the_host_saw_is_told():
    assert codes(files(lock="method flock\nbeside trial x (user y)\n")) == ["disk-shared"]
    assert codes(files(lock="method none\nwhy no directory\n")) == ["disk-unlocked"]
    assert codes(files(lock="method pid\n")) == ["disk-unlocked"]
    assert codes(files(lock="method flock\nwhy \n")) == []
