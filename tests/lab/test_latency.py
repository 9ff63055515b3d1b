"""A disk with a latency of its own: never earlier, not much later, and many requests at once.

A busy machine only adds: what comes too early is a fault at once, and how late a disk is, is
measured until it is left alone (`when_left_alone`). Of short latencies: docs/lab.md."""

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.lab.conftest import custom, fio, ssh
from tests.rigs.waiting import until

from diskbench.errors import HostUnavailable, InvalidValue
from diskbench.model.rental import DiskSpec
from diskbench.providers.lab import devices, fuse_file
from diskbench.providers.lab.hotplug import plug_in, pull_out
from diskbench.providers.lab.processes import find_groups, members
from diskbench.providers.lab.request import LabRequest

MS = 100.0
"""Long enough that what a machine adds to it is little, unless it is very busy."""


def test_jitter_of_no_latency_is_refused(lab):
    with pytest.raises(InvalidValue, match="without a latency"):
        lab.machines.acquire("one", custom(latency_jitter=0.2))
    assert not lab.base.exists()


def test_without_fuse_the_error_says_so(lab, monkeypatch):
    monkeypatch.setattr("diskbench.providers.lab.disks._DEVICE", Path("/dev/no-fuse"))
    with pytest.raises(HostUnavailable, match="--latency needs FUSE"):
        lab.machines.acquire("one", custom(latency_ms=1))
    lab.machines.check(custom())
    assert not lab.base.exists()


@pytest.mark.parametrize("direction", ["read", "write"])
def test_the_median_is_the_one_asked_for_and_nothing_comes_earlier(lab, direction):
    host = lab.machines.acquire("one", custom(latency_ms=MS))
    for done in when_left_alone(host, f"--rw=rand{direction}", "--iodepth=1"):
        assert done.least >= MS
        if done.median <= MS * 1.25:
            return


def test_requests_overlap(lab):
    host = lab.machines.acquire("one", custom(latency_ms=MS))
    for done in when_left_alone(host, "--rw=randread", "--iodepth=32"):
        assert done.iops <= 32 * 1000 / MS * 1.1
        if done.iops > 20 * 1000 / MS:  # one at a time are at most 1000 / MS
            return


def test_what_was_written_is_read_back(lab):
    host = lab.machines.acquire("one", custom(latency_ms=1, latency_jitter=0.5))
    given_by_fio = fio(
        host, "--rw=randwrite", "--bsrange=4k-1m", "--bs_unaligned=0", "--size=128m",
        "--verify=crc32c", "--verify_fatal=1", "--do_verify=1", "--blockalign=4k",
    )  # fmt: skip
    assert given_by_fio["read_bytes"] > 0


def test_a_disk_that_is_plugged_in_is_as_late_and_goes_again(lab):
    lab.machines.acquire("one", LabRequest(latency_ms=1))
    disk = DiskSpec(type="gp3", size_gib=4)
    assert plug_in("one", "vol-0abc", disk, index=0) == plug_in("one", "vol-0abc", disk, index=0)
    assert len(fuse_file.mounted(lab.base)) == 1
    (server,) = servers()
    pull_out("one", "vol-0abc")
    assert fuse_file.mounted(lab.base) == ()
    until(lambda: server not in servers())
    lab.machines.release("one")
    assert lab.left() == []


def test_each_disk_has_its_own_server_and_all_go_with_the_host(lab):
    lab.machines.acquire("one", custom(latency_ms=1, count=3))
    assert len(servers()) == len(fuse_file.mounted(lab.base)) == len(devices.find(lab.base)) == 3
    lab.machines.release("one")
    assert fuse_file.mounted(lab.base) == ()
    assert lab.left() == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_server_that_is_killed_or_hangs_under_load_leaves_nothing(lab, number):
    with fio_at_work(lab, lab.machines.acquire("one", custom(latency_ms=1))) as load:
        (server,) = servers()
        os.kill(server, number)
        if number == signal.SIGKILL:
            assert load.wait(timeout=240) != 0  # I/O errors
        lab.machines.release("one")
        assert servers() == ()
    assert lab.left() == []


def test_a_mounted_filesystem_does_not_hold_the_host(lab):
    host = lab.machines.acquire("one", custom(latency_ms=1))
    ssh(host, f"mkfs.ext4 -q {host.device} && mount {host.device} /mnt && echo a >/mnt/f")
    lab.machines.release("one")
    assert lab.left() == []


class Measured:
    """What fio measured: latencies in milliseconds, and I/Os per second."""

    def __init__(self, job):
        # fio's percentiles are those of its bins; the smallest and the largest are exact.
        self.least = job["lat_ns"]["min"] / 1e6
        self.most = job["lat_ns"]["max"] / 1e6
        self.median = job["clat_ns"]["percentile"]["50.000000"] / 1e6
        self.iops = job["iops"]


def when_left_alone(host, *options: str):
    """Measure blocks of 4 KiB for three seconds, again and again. Whoever reads this stops at one
    that is not later than the disk; fails after four minutes in which every one was."""
    given_to_fio = (
        f"fio --name=t --filename={host.device} --ioengine=libaio --direct=1 --bs=4k --runtime=3 "
        f"--time_based --output-format=json {' '.join(options)}"
    )
    deadline = time.monotonic() + 240
    while True:
        printed = ssh(host, f"cd /tmp && {given_to_fio}")
        job = json.loads(printed[printed.index("{") :])["jobs"][0]
        done = Measured(job["write" if job["write"]["total_ios"] else "read"])
        yield done
        assert time.monotonic() < deadline, f"always later: {vars(done)}"


def servers():
    found = []
    for pid in members(find_groups().of("one")):
        with contextlib.suppress(OSError):
            argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if b"diskbench.providers.lab.latency" in argv:
                found.append(pid)
    return tuple(found)


@contextlib.contextmanager
def fio_at_work(lab, host):
    assert host.ssh is not None
    (loop,) = devices.find(lab.base)
    counters = Path("/sys/block", loop.kernel, "stat")
    script = (
        f"cd /tmp && fio --name=t --filename={host.device} --rw=randrw --bs=4k --direct=1 "
        "--ioengine=libaio --iodepth=32 --runtime=600 --time_based"
    )
    load = subprocess.Popen(
        ["ssh", "-F", host.ssh.config, host.address, script],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: int(counters.read_text().split()[0]) > 1000)
        yield load
    finally:
        load.kill()
        load.wait()
