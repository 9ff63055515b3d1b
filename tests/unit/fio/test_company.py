"""Whether a step was alone on its disk: both sides of each limit, and what cannot be told."""

from __future__ import annotations

import pytest

from diskbench.fio.company import company_doubts
from diskbench.fio.declared import Case
from diskbench.fio.reported import DirectionStats, FioJob, FioOutput
from diskbench.model.facts import HostFacts, MountFacts
from diskbench.model.spec import Step

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
    return {
        "live.tsv": "\n".join([*live, "#", "~"]).encode(),
        "samples.txt": "\n".join(samples).encode(),
        "lock.txt": lock.encode(),
    }


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


def test_without_samples_progress_or_time_it_is_silent():
    whole = files(fio_reads=100, reads=900)
    for name in ("live.tsv", "samples.txt"):
        assert codes({**whole, name: b""}) == []
        assert codes({**whole, name: b"\xff\x00 nonsense\n"}) == []
    assert codes(files(fio_reads=100, reads=900, seconds=2)) == []
    assert codes(whole, role="fill") == []
    assert codes({}) == []


def test_counts_that_begin_again_after_a_ramp_are_read_from_there():
    found = files(fio_reads=1000, reads=1000)
    first = b"1000.900\t1\t99999999\t1\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\n"
    assert codes({**found, "live.tsv": first + found["live.tsv"]}) == []


def test_what_the_host_saw_is_told():
    beside = "method flock\nbeside trial x (user y)\n"
    assert codes(files(lock=beside)) == ["disk-shared"]
    assert codes(files(lock="method none\nwhy no directory\n")) == ["disk-unlocked"]
    assert codes(files(lock="method pid\n")) == ["disk-unlocked"]
    assert codes(files(lock="method flock\nwhy \n")) == []
