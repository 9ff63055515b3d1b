"""What vSphere made is what was asked for, in every value it tells; else nothing is measured."""

from typing import Any

import pytest
from pyVmomi import vim
from tests.unit.providers.vsphere.made import requested, resolved

from diskbench.errors import RentalFailed
from diskbench.providers.vsphere import handover
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
    ("made", "says"),
    [
        (disk(size=10 * GIB), "size in bytes of disk 6000C29f is 10737418240"),
        (disk(limit=-1), "IOPS limit of disk 6000C29f is -1, but 500 was requested"),
        (disk(thinProvisioned=True), "thin provisioning"),
        (disk(eagerlyScrub=False), "eager zeroing"),
        (disk(diskMode="persistent"), "mode of disk 6000C29f is persistent"),
        (disk(datastore=vim.Datastore("datastore-16")), "is datastore-16, but"),
    ],
)
def test_a_disk_that_is_another_is_refused_with_both_values(made, says):
    with pytest.raises(RentalFailed, match="something other than") as refused:
        handover.check(DETAILS, machine(), [made])
    assert says in refused.value.message


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"config__hardware__numCPU": 2}, "vCPUs of vm-99 is 2, but 4 was requested"),
        ({"config__hardware__memoryMB": 4096}, "memory in MiB"),
        ({"runtime__host": vim.HostSystem("host-23")}, "host of vm-99 is host-23"),
        ({"config__extraConfig": [UUID_OFF]}, "disk.EnableUUID"),
    ],
)
def test_a_machine_that_is_another_is_refused(change, says):
    with pytest.raises(RentalFailed) as refused:
        handover.check(DETAILS, machine(**change), [disk()])
    assert says in refused.value.message
