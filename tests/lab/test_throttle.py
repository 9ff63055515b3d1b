"""A lab disk does what its cloud promises, and no more, from the moment when it comes to a
running host on. Real fio on real loop devices.

Upper bounds of rates are the lab's; lower ones are wide, since other tests use this machine too:
unthrottled these disks do tens of thousands. Latency is never earlier, not much later: a busy
machine only adds, so what comes too early is a fault at once, and how late a disk is, is measured
until it is left alone (`when_left_alone`). Of short latencies: docs/lab.md."""

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.lab.conftest import Lab, custom, fio, ssh
from tests.rigs.waiting import until

from diskbench.catalog.bucket import Allowance
from diskbench.catalog.lookup import limits
from diskbench.errors import HostUnavailable, InvalidValue
from diskbench.model.rental import CUSTOM, DiskSpec
from diskbench.providers.lab import devices, fuse_file
from diskbench.providers.lab.hotplug import plug_in, pull_out
from diskbench.providers.lab.processes import find_groups, members
from diskbench.providers.lab.request import LabRequest
from diskbench.providers.lab.supervisor.rates import MachineGate
from diskbench.units import MIB

SHORT = ("--runtime=4", "--time_based", "--ramp_time=1")


@pytest.mark.parametrize("direction", ["read", "write"])
def test_random_io_is_held_at_the_iops(lab, direction):
    host = lab.machines.acquire("one", custom(iops=500))
    done = fio(host, f"--rw=rand{direction}", "--bs=4k", *SHORT)
    assert done[f"{direction}_iops"] == pytest.approx(500, rel=0.25)


@pytest.mark.parametrize("direction", ["read", "write"])
def test_large_io_is_held_at_the_throughput(lab, direction):
    host = lab.machines.acquire("one", custom(mib_per_s=20))
    done = fio(host, f"--rw={direction}", "--bs=256k", *SHORT)
    assert done[f"{direction}_bytes"] == pytest.approx(20 * MIB, rel=0.25)


def test_reads_and_writes_share_one_limit(lab):
    host = lab.machines.acquire("one", custom(iops=500))
    done = fio(host, "--rw=randrw", "--rwmixread=70", "--bs=4k", *SHORT)
    assert 350 < done["read_iops"] + done["write_iops"] < 650


def test_reads_and_writes_of_google_have_limits_of_their_own(lab):
    disk = DiskSpec(type="pd-standard", size_gib=400)  # 300 reads, 600 writes a second
    host = lab.machines.acquire("one", LabRequest(style="google", disk=disk))
    done = fio(host, "--rw=randrw", "--rwmixread=50", "--bs=4k", "--size=1g", *SHORT)
    assert done["read_iops"] == pytest.approx(300, rel=0.25)
    assert done["write_iops"] == pytest.approx(300, rel=0.25)


def test_a_buffered_write_is_done_when_the_limit_lets_it_be(lab):
    host = lab.machines.acquire("one", custom(mib_per_s=10))
    script = (
        f"mkfs.ext4 -q -E lazy_itable_init=0,nodiscard {host.device} && "
        f"mount {host.device} /mnt && sync && date +%s.%N && "
        "dd if=/dev/zero of=/mnt/f bs=1M count=40 conv=fsync 2>/dev/null && date +%s.%N"
    )
    start, end = map(float, ssh(host, script).split())
    assert 40 / 10 * 0.8 < end - start < 40 / 10 * 10


def test_the_machine_caps_the_sum_of_its_disks(lab):
    host = lab.machines.acquire("one", custom(iops=400, count=2, vm_iops=500))
    alone = fio(host, "--rw=randread", "--bs=4k", *SHORT)
    both = fio(host, f"--filename={':'.join(host.devices)}", "--rw=randread", "--bs=4k", *SHORT)
    assert alone["read_iops"] == pytest.approx(400, rel=0.25)
    assert both["read_iops"] == pytest.approx(500, rel=0.25)


def test_filling_a_disk_spends_nothing_while_credit_is_off(lab):
    request = LabRequest(disk=DiskSpec(type="gp2", size_gib=20), time_scale=5400)
    host = lab.machines.acquire("one", request)  # 1,000 credits: a third of a second
    lab.machines.set_credit("one", on=False)
    assert fio(host, "--rw=randread", "--bs=4k", *SHORT)["read_iops"] > 500, "the baseline is 100"
    assert lab.balances() == [1000]
    lab.machines.set_credit("one", on=True)
    slow = fio(host, "--rw=randread", "--bs=4k", "--ramp_time=2", "--runtime=3", "--time_based")
    assert slow["read_iops"] == pytest.approx(100, rel=0.3)


def test_a_request_of_a_mebibyte_costs_an_hdd_a_mebibyte_though_the_kernel_cuts_it(lab):
    allowance = limits("aws", "st1", 125).pools[0].bytes_per_s
    assert allowance is not None
    assert allowance.capacity is not None
    request = LabRequest(disk=DiskSpec(type="st1", size_gib=125), time_scale=100)
    host = lab.machines.acquire("one", request)
    done = fio(host, *("--rw=randread", "--bs=1m", "--size=1g", "--runtime=6", "--time_based"))
    # Charged as two each, the halves would get half of the rate, and spend the credit all the same.
    assert done["read_bytes"] == pytest.approx(allowance.ceiling, rel=0.25)
    (left,) = lab.balances()
    assert allowance.capacity / 100 - left < 6 * done["read_bytes"]


def test_a_loop_device_is_given_back_uncut(lab):
    lab.machines.acquire("one", LabRequest(disk=DiskSpec(type="gp2", size_gib=1)))
    queue = Path("/sys/block", devices.find(lab.base)[0].kernel, "queue")
    assert (queue / "max_sectors_kb").read_text() == "256\n"
    lab.machines.release("one")
    assert (queue / "max_sectors_kb").read_text() == (queue / "max_hw_sectors_kb").read_text()


DISK_IOPS, CACHED_IOPS = 300, 1500
AGAIN = ("--bs=4k", "--size=4m", "--runtime=3", "--time_based")


def cached(cache):
    disk = DiskSpec(type=CUSTOM, size_gib=1, iops=DISK_IOPS)
    gate = MachineGate("ios", Allowance(CACHED_IOPS), stage="cache")
    return LabRequest(disk=disk, cache=cache, machine=(gate,))


def test_what_was_read_before_comes_from_the_cache(lab):
    host = lab.machines.acquire("one", cached("readonly"))
    first = fio(host, "--rw=randread", "--bs=4k", "--size=4m")
    again = fio(host, "--rw=randread", *AGAIN)
    written = fio(host, "--rw=randwrite", *AGAIN)
    assert first["read_iops"] < 1.3 * DISK_IOPS
    assert 1.3 * DISK_IOPS < again["read_iops"] < 1.3 * CACHED_IOPS
    assert written["write_iops"] < 1.3 * DISK_IOPS


def test_writes_that_are_kept_are_fast_and_are_read_back_as_written(lab):
    host = lab.machines.acquire("one", cached("readwrite"))
    assert 1.3 * DISK_IOPS < fio(host, "--rw=randwrite", *AGAIN)["write_iops"] < 1.3 * CACHED_IOPS
    fio(host, "--rw=randwrite", "--bs=4k", "--size=2m", "--verify=crc32c", "--verify_fatal=1")
    ssh(host, f"mkfs.ext4 -q -F {host.device} && fsck.ext4 -fn {host.device}")


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


DISK = DiskSpec(type="gp3", size_gib=4)


def test_a_disk_comes_and_goes(lab: Lab) -> None:
    host = lab.machines.acquire("one", LabRequest())
    path = plug_in("one", "vol-0abc", DISK, index=2)
    assert plug_in("one", "vol-0abc", DISK, index=2) == path
    assert path == "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0abc"
    shown = ssh(host, f"readlink -f {path}; lsblk -ndbo SIZE")
    assert shown.split() == ["/dev/nvme3n1", str(4 * 2**30)]
    pull_out("one", "vol-0abc")
    pull_out("one", "vol-0abc")
    assert devices.find(lab.base) == ()
    shown = ssh(host, "ls /dev/disk/by-id /sys/block; ls /dev | grep -c nvme || :")
    assert shown.split() == ["/dev/disk/by-id:", "/sys/block:", "0"]


def test_a_disk_that_is_plugged_in_goes_with_its_host(lab: Lab) -> None:
    lab.machines.acquire("one", LabRequest())
    plug_in("one", "vol-0abc", DISK, index=0)
    lab.machines.release("one")
    assert lab.left() == []


def test_there_is_nothing_to_plug_into_without_a_host(lab: Lab) -> None:
    with pytest.raises(HostUnavailable, match="no lab host runs"):
        plug_in("never", "vol-0abc", DISK, index=0)
    assert lab.left() == []
