"""What vSphere made is what was asked for, in every value it tells; else nothing is measured.
Which of the guest's disks is ours: by identifier, newness and size; by appearing on NVMe."""

from typing import Any

import pytest
from pyVmomi import vim
from tests.unit.providers.vsphere.made import requested, resolved

from diskbench.errors import RentalFailed
from diskbench.providers.guest import GuestDisk
from diskbench.providers.skeleton.handover import AttachedDisk
from diskbench.providers.vsphere import handover
from diskbench.providers.vsphere.attach import NVME_MODEL, find_disks, reachable, wwn_of
from diskbench.providers.vsphere.client import Item
from diskbench.units import GIB

DETAILS = resolved(requested=requested(iops_limit=500))
VALUES: dict[str, Any] = {
    "config.hardware.numCPU": 4,
    "config.hardware.memoryMB": 8192,
    "config.uuid": "42310f7e-0000-0000-0000-000000000001",
    "config.extraConfig": [
        vim.option.OptionValue(key="disk.EnableUUID", value="true"),
        vim.option.OptionValue(key="guestinfo.userdata", value="c2VjcmV0"),
    ],
    "runtime.host": vim.HostSystem("host-22"),
}
UUID_OFF = vim.option.OptionValue(key="disk.EnableUUID", value="FALSE")


def machine(**more: Any) -> Item:
    told = VALUES | {key.replace("__", "."): value for key, value in more.items()}
    return Item(vim.VirtualMachine("vm-99"), told)


def disk(limit: int | None = 500, size: int = 20 * GIB, **backing: Any) -> Any:
    told: dict[str, Any] = {
        "uuid": "6000C29f",
        "fileName": "[nvme] diskbench-1/disk.vmdk",
        "datastore": vim.Datastore("datastore-15"),
        "diskMode": "independent_persistent",
        "thinProvisioned": False,
        "eagerlyScrub": True,
    }
    shares, kind = vim.SharesInfo(level="normal", shares=1000), vim.vm.device.VirtualDisk
    allocation = vim.StorageResourceManager.IOAllocationInfo(limit=limit, shares=shares)
    return kind(
        key=2001, unitNumber=0, capacityInBytes=size, capacityInKB=size // 1024,
        backing=kind.FlatVer2BackingInfo(**(told | backing)), storageIOAllocation=allocation,
    )  # fmt: skip


def test_what_is_as_asked_or_not_told_passes_and_its_record_says_what_was_measured():
    handover.check(DETAILS, machine(), [disk()])
    silent = disk(eagerlyScrub=None, thinProvisioned=None, datastore=None)
    handover.check(DETAILS, Item(vim.VirtualMachine("vm-99"), {}), [silent])
    details = resolved(requested=requested(provisioning=None))
    handover.check(details, machine(), [disk(limit=None, thinProvisioned=True, eagerlyScrub=False)])
    found = handover.facts(DETAILS, machine(), [disk()], {"datastore": {"kind": "VMFS"}})
    assert found["instance_id"] == "42310f7e-0000-0000-0000-000000000001"
    assert found["datastore"]["kind"] == "VMFS"
    (volume,) = found["volumes"]
    assert (volume["thin"], volume["eager_zeroed"], volume["iops_limit"]) == (False, True, 500)
    assert volume["controller"] == "pvscsi"
    assert "c2VjcmV0" not in str(found)


@pytest.mark.parametrize(
    ("changed", "made", "says"),
    [
        ({}, disk(size=10 * GIB), "size in bytes of disk 6000C29f is 10737418240"),
        ({}, disk(limit=-1), "IOPS limit of disk 6000C29f is -1, but 500 was requested"),
        ({}, disk(thinProvisioned=True), "thin provisioning"),
        ({}, disk(eagerlyScrub=False), "eager zeroing"),
        ({}, disk(diskMode="persistent"), "mode of disk 6000C29f is persistent"),
        ({}, disk(datastore=vim.Datastore("datastore-16")), "is datastore-16, but"),
        ({"config__hardware__numCPU": 2}, disk(), "vCPUs of vm-99 is 2, but 4 was requested"),
        ({"config__hardware__memoryMB": 4096}, disk(), "memory in MiB"),
        ({"runtime__host": vim.HostSystem("host-23")}, disk(), "host of vm-99 is host-23"),
        ({"config__extraConfig": [UUID_OFF]}, disk(), "disk.EnableUUID"),
    ],
)
def test_a_disk_or_a_machine_that_is_another_is_refused_with_both_values(changed, made, says):
    with pytest.raises(RentalFailed, match="something other than") as refused:
        handover.check(DETAILS, machine(**changed), [made])
    assert says in refused.value.message


UUID = "6000C29f-1111-2222-3333-444455556666"
OURS = AttachedDisk(UUID, "2000", 2**30)
WWN = "6000c29f111122223333444455556666"
ROOT = GuestDisk(node="/dev/sda", number="8:0", size_bytes=2**33, identity="naa.1")


def seen(node="/dev/sdb", number="8:16", size=2**30, **more):
    more.setdefault("links", (f"/dev/disk/by-id/wwn-0x{WWN}",))
    more.setdefault("identity", f"naa.{WWN}")
    return GuestDisk(node=node, number=number, size_bytes=size, **more)


def nvme(node="/dev/nvme0n1", number="259:0", size=2**30):
    return seen(node, number, size, links=(), identity="VMware NVME_0000", model=NVME_MODEL)


def test_disks_are_known_by_their_uuid_and_come_in_the_order_they_were_asked_for():
    assert find_disks([ROOT, seen()], [OURS], [ROOT], "pvscsi") == (seen(),)
    by_wwn = seen(links=())
    assert find_disks([ROOT, by_wwn], [OURS], [ROOT], "pvscsi") == (by_wwn,)
    other = AttachedDisk(UUID.replace("C29f", "C29e"), "2001", 2**30)
    second = seen("/dev/sdc", "8:32", links=(), identity=f"naa.{wwn_of(other)}")
    assert find_disks([seen(), second], [other, OURS], [], "lsi") == (second, seen())
    own = nvme("/dev/nvme0n1", "259:0", 2**33)
    ours = nvme("/dev/nvme1n1", "259:3")
    assert find_disks([own, ours], [OURS], [own], "nvme") == (ours,)
    assert find_disks([own], [OURS], [own], "nvme") is None


@pytest.mark.parametrize(
    ("found", "before", "told"),
    [
        ([nvme()], None, "no identifier"),
        ([nvme(), nvme("/dev/nvme1n1", "259:3")], [], "2 disks appeared"),
        ([nvme(size=2**31)], [], "has 2,147,483,648 bytes"),
    ],
)
def test_on_nvme_what_is_not_certain_is_not_taken(found, before, told):
    with pytest.raises(RentalFailed, match=told):
        find_disks(found, [OURS], before, "nvme")


def test_an_address_of_one_link_only_is_not_used():
    assert reachable(["fe80::1", "10.0.0.5"]) == "10.0.0.5"
    assert reachable(["169.254.3.4", "2001:db8::7"]) == "2001:db8::7"
    assert reachable(["2001:db8::7", "192.0.2.9", "192.0.2.10"]) == "192.0.2.9"
    assert reachable(["fe80::1%eth0", "", "soon"]) is None
