"""A lab disk does what its cloud promises, and no more. Real fio on real loop devices.

Upper bounds are the lab's; lower ones are wide, since other tests use this machine too:
unthrottled these disks do tens of thousands."""

from pathlib import Path

import pytest
from tests.lab.conftest import custom, fio, ssh

from diskbench.catalog.bucket import Allowance
from diskbench.catalog.lookup import limits
from diskbench.model.rental import CUSTOM, DiskSpec
from diskbench.providers.lab import devices
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
