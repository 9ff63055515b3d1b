"""Attach the disks to a running machine: read its address, hot-add the disks, find them in the
guest."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from diskbench.errors import DiskbenchError, RentalFailed
from diskbench.providers.guest import disks
from diskbench.providers.skeleton.handover import Machine, disks_before_ours
from diskbench.providers.vsphere import requests
from diskbench.providers.vsphere.client import moid, reference
from diskbench.providers.vsphere.guest import VirtualDisk, find_disks
from diskbench.providers.vsphere.provision import GUEST_USER, alive, device_list
from diskbench.providers.vsphere.sdk import sdk
from diskbench.providers.waits import Still

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.providers.guest import Guest, GuestDisk
    from diskbench.providers.vsphere.client import Ref
    from diskbench.providers.vsphere.provision import VsphereOrder


def address_of(order: VsphereOrder, vm: Ref) -> str:
    """The address to connect to, reported by VMware Tools in the machine. Raises RentalFailed."""
    return order.until(
        lambda: _address(order, vm), f"address of {moid(vm)}", order.timing.address_s
    )


def machine_of(order: VsphereOrder, vm: Ref) -> Machine:
    """The machine, and how to connect to it."""
    address = address_of(order, vm)
    access = order.access(address, GUEST_USER)
    return Machine(f"machine {moid(vm)}", address, access, lambda: alive(order, vm))


def _address(order: VsphereOrder, vm: Ref) -> str | Still:
    away = alive(order, vm)
    if away is not None:
        return away
    guest_info = order.vsphere.properties(
        vm, ("guest.toolsRunningStatus", "guest.net", "guest.ipAddress")
    )
    values = guest_info.values if guest_info else {}
    if str(values.get("guest.toolsRunningStatus")) != "guestToolsRunning":
        return Still("VMware Tools do not run in it (yet)")
    addresses = [
        text for card in values.get("guest.net") or () for text in card.ipAddress or ()
    ] or [str(values.get("guest.ipAddress") or "")]
    return reachable(addresses) or Still("VMware Tools report none yet")


def reachable(reported: Sequence[str]) -> str | None:
    """The first IPv4 address that is not link-local, else the first such IPv6 address."""
    addresses = []
    for text in reported:
        try:
            address = ipaddress.ip_address(text.partition("%")[0])
        except ValueError:
            continue
        if not address.is_link_local and not address.is_unspecified:
            addresses.append(address)
    addresses.sort(key=lambda address: address.version)  # the sort is stable
    return str(addresses[0]) if addresses else None


def attach(
    order: VsphereOrder, vm: Ref, guest: Guest
) -> tuple[tuple[VirtualDisk, ...], tuple[GuestDisk, ...]]:
    """Add the disks and return them in order, as vSphere lists them and as the guest sees them.
    Raises RentalFailed."""
    ours = virtual_disks(order, vm)
    before = disks_before_ours(order, guest, attached=bool(ours))
    if not ours:
        _add(order, vm)
        ours = virtual_disks(order, vm)
    if len(ours) != order.details.requested.count:
        raise RentalFailed(
            f"{len(ours)} disks are attached to {moid(vm)}, not {order.details.requested.count}",
            advice="give the lease back and start a new run",
        )
    controller = order.details.requested.controller

    def ask() -> tuple[GuestDisk, ...] | Still:
        guest_disks = find_disks(disks(guest.host), ours, before, controller)
        return guest_disks or Still("not seen in the guest yet")

    return ours, order.ask_guest("the disk", ask)


def virtual_disks(order: VsphereOrder, vm: Ref) -> tuple[VirtualDisk, ...]:
    """The disks on our own controller, in order of unit."""
    return tuple(
        VirtualDisk(
            key=disk.key,
            uuid=str(disk.backing.uuid),
            size_bytes=int(disk.capacityInBytes or disk.capacityInKB * 1024),
        )
        for disk in our_devices(order, vm)
    )


def our_devices(order: VsphereOrder, vm: Ref) -> list[Any]:
    """The same disks as pyVmomi's objects."""
    devices = device_list(order, vm)
    controller = _our_controller(order, vm, devices)
    return sorted(
        (disk for disk in _disks(devices) if disk.controllerKey == controller.key),
        key=lambda disk: int(disk.unitNumber or 0),
    )


def _add(order: VsphereOrder, vm: Ref) -> None:
    """Hot-add the disks, which then appear in the guest."""
    details, timing, requested = order.details, order.timing, order.details.requested
    devices = device_list(order, vm)
    controller = _our_controller(order, vm, devices)
    datastore = reference(order.vsphere, "Datastore", details.datastore.id)
    others, turn = _disks(devices), order.claim.turn
    spec = requests.add_disks(details, controller.key, datastore, others, turn)
    provisioning = requested.provisioning or "as its policy says"
    order.watch.note(
        f"disk of {requested.size_gib} GiB is being made on {details.datastore.name}: "
        f"{provisioning}"
    )
    try:
        order.vsphere.run(
            "VirtualMachine.Config.AddNewDisk",
            f"disk for {moid(vm)}",
            lambda: vm.ReconfigVM_Task(spec=spec),
            timing.disk_s + timing.disk_s_per_gib * requested.size_gib * requested.count,
        )
    except DiskbenchError:
        # When the request is repeated after a lost answer, vSphere refuses the disk that it has
        # added.
        if len(virtual_disks(order, vm)) != requested.count:
            raise


def _our_controller(order: VsphereOrder, vm: Ref, devices: Sequence[Any]) -> Any:  # noqa: ANN401 - pyVmomi's
    for device in devices:
        if requests.is_ours(device, order.details):
            return device
    raise RentalFailed(
        f"machine {moid(vm)} has not the {order.details.requested.controller} controller it was "
        "given",
        advice="give the lease back and start a new run",
    )


def _disks(devices: Sequence[Any]) -> list[Any]:
    vim = sdk("vim")

    return [device for device in devices if isinstance(device, vim.vm.device.VirtualDisk)]
