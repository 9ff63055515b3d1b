"""Handover of a machine that is on: connect to it, find its disk, read everything back; vSphere's
report is kept for the record and compared with the request."""

from collections.abc import Iterator, Sequence
from typing import Any

from diskbench.errors import RentalFailed
from diskbench.model.rental import Acquired, Which
from diskbench.providers.guest import await_prepared
from diskbench.providers.skeleton.handover import acquired, differs, reached, refuse
from diskbench.providers.skeleton.shipped import facts_of
from diskbench.providers.vsphere import attach, inventory
from diskbench.providers.vsphere.client import Item, Ref, moid, reference
from diskbench.providers.vsphere.disk_request import VsphereResolved
from diskbench.providers.vsphere.provision import VsphereOrder, alive, read
from diskbench.providers.waits import Still
from diskbench.units import GIB
from diskbench.yaml_lines import packaged


def _await_listed(order: VsphereOrder, vm: Ref) -> None:
    """Wait until a listing of the lease shows its machine, so that later listings by other
    processes do. A listing without it after that time is noted."""

    def ask() -> bool | Still:
        listed = {
            machine.item.id for machine in inventory.machines(order.vsphere, Which(order.lease))
        }
        return moid(vm) in listed or Still("not listed (yet)")

    try:
        order.until(ask, f"listing of {order.lease}", order.timing.appear_s)
    except RentalFailed as late:
        order.watch.note(late.message)


def hand_over(order: VsphereOrder, vm: Ref) -> Acquired:
    """The machine with its verified disk. Raises RentalFailed where it differs from the request."""
    reach = attach.machine_of(order, vm)
    with reached(order, reach) as guest:
        ours, guest_disks = attach.attach(order, vm, guest)
        await_prepared(guest, moid(vm), order.timing, order.watch)
    details, vsphere = order.details, order.vsphere
    alive(order, vm)
    machine = read(order, vm, *PATHS)
    hardware = machine.values.get("config.hardware.device") or ()
    devices = {str(device.key): device for device in hardware}
    disks = [devices[disk.place] for disk in ours if disk.place in devices]
    check(details, machine, disks)
    datastore = vsphere.properties(
        reference(vsphere, "Datastore", details.datastore.id), inventory.DATASTORE
    )
    store = inventory.datastore_facts(vsphere, datastore, moid(vm)) if datastore else details.facts
    more = {
        "datastore": store,
        **inventory.host_facts(vsphere, machine.values["runtime.host"]),
        "disks": [disk.model_dump(mode="json") for disk in guest_disks],
    }
    _await_listed(order, vm)
    return acquired(
        order, reach, guest_disks, size_bytes=guest_disks[0].size_bytes,
        facts=facts(details, machine, disks, more), made=(f"machine {moid(vm)}",),
    )  # fmt: skip


_API = packaged("diskbench.providers.vsphere", "api.yaml")
PATHS = (
    "config.hardware.numCPU", "config.hardware.memoryMB", "config.hardware.device", "config.uuid",
    "config.instanceUuid", "config.version", "config.guestFullName", "config.extraConfig",
    "runtime.host", "runtime.bootTime", "resourcePool", "guest.toolsVersion",
)  # fmt: skip


def check(details: VsphereResolved, machine: Item, disks: Sequence[Any]) -> None:
    """Raise RentalFailed naming every value that differs, as requested and as reported. A value
    that vSphere does not report is no difference."""
    refuse(
        "vSphere",
        (*_of_machine(details, machine), *(t for disk in disks for t in _of_disk(details, disk))),
    )


def _of_machine(details: VsphereResolved, machine: Item) -> Iterator[str]:
    values, requested = machine.values, details.requested
    yield from differs(machine.id, "vCPUs", requested.vcpus, values.get("config.hardware.numCPU"))
    yield from differs(
        machine.id, "memory in MiB", requested.memory_mib, values.get("config.hardware.memoryMB")
    )
    enabled = inventory.option(machine, "disk.EnableUUID")
    yield from differs(machine.id, "disk.EnableUUID", "TRUE", enabled.upper() if enabled else None)
    if details.host is not None and values.get("runtime.host") is not None:
        yield from differs(machine.id, "host", details.host.id, moid(values["runtime.host"]))


def _of_disk(details: VsphereResolved, disk: Any) -> Iterator[str]:  # noqa: ANN401 - pyVmomi's
    requested, backing = details.requested, disk.backing
    what = f"disk {backing.uuid}"
    size = inventory.size_of(disk)
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


def facts(
    details: VsphereResolved, machine: Item, disks: Sequence[Any], more: dict[str, Any]
) -> dict[str, Any]:
    """The facts recorded beside the result; JSON values only, nothing secret. `instance_id` is
    the UUID that the guest's firmware shows, by which it can prove to be this machine."""
    boot = machine.values.get("runtime.bootTime")
    return {
        "machine": machine.id,
        **{name: machine.values.get(path) for name, path in _API["machine"].items()},
        **facts_of(details.model_dump(mode="json"), _API["rented"]),
        "booted_at": str(boot) if boot else None,
        "volumes": [_disk_facts(details, disk) for disk in disks],
        **more,
    }


def _disk_facts(details: VsphereResolved, disk: Any) -> dict[str, Any]:  # noqa: ANN401 - pyVmomi's
    backing, allocation = disk.backing, disk.storageIOAllocation
    return {
        "uuid": backing.uuid,
        "file": backing.fileName,
        "size_bytes": inventory.size_of(disk),
        "thin": backing.thinProvisioned,
        "eager_zeroed": backing.eagerlyScrub,
        "mode": backing.diskMode,
        "controller": details.requested.controller,
        "unit": disk.unitNumber,
        "iops_limit": getattr(allocation, "limit", None),
        "shares": str(getattr(getattr(allocation, "shares", None), "level", "") or "") or None,
    }
