"""A disk behind a host cache: two throttles in turn, and no byte lost. Real fio, loops and FUSE."""

import pytest
from tests.lab.conftest import Lab, fio, ssh

from diskbench.catalog.bucket import Allowance
from diskbench.model.rental import CUSTOM, DiskSpec
from diskbench.providers.lab.request import Cache, LabMachine, LabRequest

pytestmark = pytest.mark.slow

DISK_IOPS, CACHED_IOPS = 300, 1500
SHORT = ("--bs=4k", "--size=4m", "--runtime=3", "--time_based")


def cached(cache: Cache) -> LabRequest:
    disk = DiskSpec(type=CUSTOM, size_gib=1, iops=DISK_IOPS)
    gate = LabMachine(counts="ios", allowance=Allowance(CACHED_IOPS), stage="cache")
    return LabRequest(disk=disk, cache=cache, machine=(gate,))


def test_what_was_read_before_comes_from_the_cache(lab: Lab) -> None:
    host = lab.machines.acquire("one", cached("readonly"))
    first = fio(host, "--rw=randread", "--bs=4k", "--size=4m")
    again = fio(host, "--rw=randread", *SHORT)
    written = fio(host, "--rw=randwrite", *SHORT)
    assert first["read_iops"] < 1.3 * DISK_IOPS
    assert 1.3 * DISK_IOPS < again["read_iops"] < 1.3 * CACHED_IOPS
    assert written["write_iops"] < 1.3 * DISK_IOPS


def test_writes_that_are_kept_are_fast_and_are_read_back_as_written(lab: Lab) -> None:
    host = lab.machines.acquire("one", cached("readwrite"))
    written = fio(host, "--rw=randwrite", *SHORT)
    assert 1.3 * DISK_IOPS < written["write_iops"] < 1.3 * CACHED_IOPS
    fio(host, "--rw=randwrite", "--bs=4k", "--size=2m", "--verify=crc32c", "--verify_fatal=1")
    ssh(host, f"mkfs.ext4 -q -F {host.device} && fsck.ext4 -fn {host.device}")
