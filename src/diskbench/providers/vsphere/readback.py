"""vSphere's report of the made resources, for the record and compared with the request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.providers.skeleton.handover import differs, refuse
from diskbench.providers.vsphere.client import Item, moid
from diskbench.units import GIB

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from diskbench.providers.vsphere.resolved import VsphereResolved

PATHS = (
    "config.hardware.numCPU", "config.hardware.memoryMB", "config.hardware.device", "config.uuid",
    "config.instanceUuid", "config.version", "config.guestFullName", "config.extraConfig",
    "runtime.host", "runtime.bootTime", "resourcePool", "guest.toolsVersion",
)  # fmt: skip


def check(details: VsphereResolved, machine: Item, disks: Sequence[Any]) -> None:
    """Raise RentalFailed naming every value that differs, as requested and as reported.

    A value that vSphere does not report is no difference.
    """
    refuse(
        "vSphere",
        (
            *_of_machine(details, machine),
            *(t for disk in disks for t in _of_disk(details, disk)),
        ),
    )


def _of_machine(details: VsphereResolved, machine: Item) -> Iterator[str]:
    values, requested = machine.values, details.requested
    yield from differs(machine.id, "vCPUs", requested.vcpus, values.get("config.hardware.numCPU"))
    yield from differs(
        machine.id, "memory in MiB", requested.memory_mib, values.get("config.hardware.memoryMB")
    )
    enabled = option(machine, "disk.EnableUUID")
    yield from differs(machine.id, "disk.EnableUUID", "TRUE", enabled.upper() if enabled else None)
    if details.host is not None and values.get("runtime.host") is not None:
        yield from differs(machine.id, "host", details.host.id, moid(values["runtime.host"]))


def _of_disk(details: VsphereResolved, disk: Any) -> Iterator[str]:  # noqa: ANN401 - pyVmomi's
    requested, backing = details.requested, disk.backing
    what = f"disk {backing.uuid}"
    size = int(disk.capacityInBytes or disk.capacityInKB * 1024)
    yield from differs(what, "size in bytes", requested.size_gib * GIB, size)
    if backing.datastore is not None:
        yield from differs(what, "datastore", details.datastore.id, moid(backing.datastore))
    yield from differs(what, "mode", "independent_persistent", backing.diskMode)
    if requested.provisioning is not None:
        thin = requested.provisioning == "thin"
        yield from differs(what, "thin provisioning", thin, backing.thinProvisioned)
        if requested.provisioning == "eager-zeroed":
            # The other provisionings leave it unset or false.
            yield from differs(what, "eager zeroing", True, backing.eagerlyScrub)  # noqa: FBT003
    limit = getattr(disk.storageIOAllocation, "limit", None)
    yield from differs(what, "IOPS limit", requested.iops_limit, limit)


def option(machine: Item, key: str) -> str | None:
    """One of the machine's extra options."""
    options = machine.values.get("config.extraConfig") or ()
    return next((str(entry.value) for entry in options if entry.key == key), None)


def facts(
    details: VsphereResolved, machine: Item, disks: Sequence[Any], more: dict[str, Any]
) -> dict[str, Any]:
    """The facts recorded beside the result; JSON values only, nothing secret. `instance_id` is
    the UUID that the guest's firmware shows, by which it can prove to be this machine."""
    values = machine.values
    boot = values.get("runtime.bootTime")
    return {
        "instance_id": values.get("config.uuid"),
        "machine": machine.id,
        "server": details.server,
        "vcenter": details.api,
        "datacenter": details.datacenter.name,
        "compute": details.compute.name,
        "resource_pool": details.pool.name,
        "folder": details.folder.name,
        "template": details.template.name,
        "guest": values.get("config.guestFullName"),
        "hardware_version": values.get("config.version"),
        "network": details.network.name if details.network else None,
        "vcpus": values.get("config.hardware.numCPU"),
        "memory_mib": values.get("config.hardware.memoryMB"),
        "tools_version": values.get("guest.toolsVersion"),
        "booted_at": str(boot) if boot else None,
        "storage_policy": details.policy.name if details.policy else None,
        "volumes": [_disk_facts(details, disk) for disk in disks],
        **more,
    }


def _disk_facts(details: VsphereResolved, disk: Any) -> dict[str, Any]:  # noqa: ANN401 - pyVmomi's
    backing, allocation = disk.backing, disk.storageIOAllocation
    return {
        "uuid": backing.uuid,
        "file": backing.fileName,
        "size_bytes": int(disk.capacityInBytes or disk.capacityInKB * 1024),
        "thin": backing.thinProvisioned,
        "eager_zeroed": backing.eagerlyScrub,
        "mode": backing.diskMode,
        "controller": details.requested.controller,
        "unit": disk.unitNumber,
        "iops_limit": getattr(allocation, "limit", None),
        "shares": str(getattr(getattr(allocation, "shares", None), "level", "") or "") or None,
    }
