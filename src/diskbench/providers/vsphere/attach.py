"""Disks at a running machine: read its address, hot-add them, find them in the guest, swap them.

With `disk.EnableUUID` a SCSI disk's WWN is the `backing.uuid` of its virtual disk, and udev's rules
for persistent storage make /dev/disk/by-id/wwn-0x… of it. A disk on a virtual NVMe controller shows
no identifier: it is recognised by its appearance, model and size."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from functools import partial
from typing import Any

from diskbench.errors import DiskbenchError
from diskbench.ports import Host
from diskbench.providers.guest import GuestDisk, disks
from diskbench.providers.skeleton import handover
from diskbench.providers.skeleton.handover import AttachedDisk
from diskbench.providers.vsphere import provision, requests
from diskbench.providers.vsphere.client import Ref, moid, reference
from diskbench.providers.vsphere.disk_request import Controller
from diskbench.providers.vsphere.errors import refused, vim
from diskbench.providers.vsphere.inventory import option, size_of
from diskbench.providers.vsphere.provision import VsphereOrder
from diskbench.providers.waits import Still


def machine_of(order: VsphereOrder, vm: Ref) -> handover.Machine:
    """The machine, and how to connect to it: VMware Tools report its address. Raises
    RentalFailed."""
    ask = partial(_address, order, vm)
    address = order.until(ask, f"address of {moid(vm)}", order.timing.address_s)
    access = order.access(address, provision.GUEST_USER)
    return handover.Machine(
        f"machine {moid(vm)}", address, access, lambda: provision.alive(order, vm)
    )


def _address(order: VsphereOrder, vm: Ref) -> str | Still:
    away = provision.alive(order, vm)
    if away is not None:
        return away
    paths = ("guest.toolsRunningStatus", "guest.net", "guest.ipAddress")
    guest_info = order.vsphere.properties(vm, paths)
    values = guest_info.values if guest_info else {}
    if str(values.get("guest.toolsRunningStatus")) != "guestToolsRunning":
        return Still("VMware Tools do not run in it (yet)")
    reported = [text for card in values.get("guest.net") or () for text in card.ipAddress or ()]
    first = reachable(reported or [str(values.get("guest.ipAddress") or "")])
    return first or Still("VMware Tools report none yet")


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
    order: VsphereOrder, vm: Ref, guest: Host
) -> tuple[tuple[AttachedDisk, ...], tuple[GuestDisk, ...]]:
    """Add the disks and return them in order, as vSphere lists them and as the guest sees them.
    Raises RentalFailed."""
    ours = virtual_disks(order, vm)
    before = handover.disks_before_ours(order, guest, attached=bool(ours))
    if not ours:
        _add(order, vm)
        ours = virtual_disks(order, vm)
    if len(ours) != order.details.requested.count:
        raise refused("another number of disks", count=len(ours), id=moid(vm), order=order)
    controller, unseen = order.details.requested.controller, Still("not seen in the guest yet")
    return ours, order.ask_guest(
        "the disk", lambda: find_disks(disks(guest), ours, before, controller) or unseen
    )


def virtual_disks(order: VsphereOrder, vm: Ref) -> tuple[AttachedDisk, ...]:
    """The disks on our own controller by UUID and device key, in order of unit."""
    return tuple(
        AttachedDisk(str(disk.backing.uuid), str(disk.key), size_of(disk))
        for disk in our_devices(order, vm)
    )


def our_devices(order: VsphereOrder, vm: Ref) -> list[Any]:
    """The same disks as pyVmomi's objects."""
    devices = provision.device_list(order, vm)
    controller = _our_controller(order, vm, devices)
    return sorted(
        (disk for disk in _disks(devices) if disk.controllerKey == controller.key),
        key=lambda disk: int(disk.unitNumber or 0),
    )


def _add(order: VsphereOrder, vm: Ref) -> None:
    details, requested = order.details, order.details.requested
    devices = provision.device_list(order, vm)
    controller = _our_controller(order, vm, devices)
    datastore = reference(order.vsphere, "Datastore", details.datastore.id)
    others, turn = _disks(devices), order.claim.turn
    spec = requests.add_disks(details, controller.key, datastore, others, turn)
    provisioning = requested.provisioning or "as its policy says"
    what = f"disk of {requested.size_gib} GiB"
    order.watch.note(f"{what} is being made on {details.datastore.name}: {provisioning}")
    making_s = order.timing.disk_s_per_gib * requested.size_gib * requested.count
    action, limit_s = "VirtualMachine.Config.AddNewDisk", order.timing.disk_s + making_s
    try:
        order.vsphere.reconfigure(vm, action, f"disk for {moid(vm)}", spec, limit_s)
    except DiskbenchError:
        # When the request is repeated after a lost answer, vSphere refuses the disk that it has
        # added.
        if len(virtual_disks(order, vm)) != requested.count:
            raise


def _our_controller(order: VsphereOrder, vm: Ref, devices: Sequence[Any]) -> Any:  # noqa: ANN401 - pyVmomi's
    for device in devices:
        if requests.is_ours(device, order.details):
            return device
    raise refused("controller gone", id=moid(vm), order=order)


def _disks(devices: Sequence[Any]) -> list[Any]:
    return [device for device in devices if isinstance(device, vim.vm.device.VirtualDisk)]


def swapped(order: VsphereOrder) -> Ref:
    """The lease's machine without disks of earlier turns, in the guest too; idempotent. Raises
    RentalFailed."""
    vm = provision.existing(order)
    if vm is None:
        raise refused("machine not listed", order=order)
    provision.alive(order, vm)
    machine = provision.read(order, vm, "config.extraConfig")
    earlier = virtual_disks(order, vm)
    if not earlier or option(machine, requests.TURN_OPTION) == str(order.claim.turn):
        return vm
    with handover.reached(order, machine_of(order, vm)) as guest:
        what, spec = (
            f"the disk before from {moid(vm)}",
            requests.remove_disks(our_devices(order, vm)),
        )
        action = "VirtualMachine.Config.RemoveDisk"
        order.vsphere.reconfigure(vm, action, f"removal of {what}", spec)
        order.watch.note(f"the disk before is gone from {moid(vm)}")
        before = handover.disks_before_ours(order, guest, attached=True)
        controller = order.details.requested.controller
        handover.await_gone(
            order, guest, "the disk before",
            lambda shown: still_shown(shown, earlier, before, controller),
        )  # fmt: skip
    return vm


NVME_MODEL = "VMware Virtual NVMe Disk"
_LINK = "/dev/disk/by-id/wwn-0x"


def wwn_of(disk: AttachedDisk) -> str:
    """A disk's identifier as the guest shows it: lower-case, without dashes."""
    return disk.id.replace("-", "").lower()


def find_disks(
    guest_disks: Sequence[GuestDisk],
    ours: Sequence[AttachedDisk],
    before: Sequence[GuestDisk] | None,
    controller: Controller,
) -> tuple[GuestDisk, ...] | None:
    """The guest's disks of our virtual disks, in order, verified by name, novelty and exact size
    in bytes: pure. None while some are missing. Raises RentalFailed for other disks."""
    matches = [[disk for disk in guest_disks if _is(disk, virtual)] for virtual in ours]
    if controller == "nvme" and not any(matches):
        return _by_appearance(guest_disks, ours, before)
    if not all(matches):
        return None
    known = handover.keys_of(before)
    chosen = [
        handover.verified(shown, virtual.id, virtual.size_bytes, known, origin="template")
        for virtual, shown in zip(ours, matches, strict=True)
    ]
    return tuple(disk for disk in chosen if disk is not None)


def still_shown(
    guest_disks: Sequence[GuestDisk],
    gone: Sequence[AttachedDisk],
    before: Sequence[GuestDisk] | None,
    controller: Controller,
) -> tuple[str, ...]:
    """The nodes of our removed disks that the guest still shows: pure."""
    shown = [disk for disk in guest_disks if any(_is(disk, virtual) for virtual in gone)]
    if controller == "nvme" and before is not None:
        known = {key for disk in before for key in _places(disk)}
        shown += [d for d in guest_disks if d.model == NVME_MODEL and not known & _places(d)]
    return tuple(dict.fromkeys(disk.node for disk in shown))


def _by_appearance(
    guest_disks: Sequence[GuestDisk],
    ours: Sequence[AttachedDisk],
    before: Sequence[GuestDisk] | None,
) -> tuple[GuestDisk, ...] | None:
    """The new NVMe disks; their order does not matter, since all are equal."""
    if before is None:
        raise refused("disk not seen to appear")
    known = {key for disk in before for key in _places(disk)}
    new = [disk for disk in guest_disks if not known & _places(disk) and disk.model == NVME_MODEL]
    if len(new) < len(ours):
        return None
    if len(new) > len(ours):
        raise refused("another number of disks seen", count=len(new), attached=len(ours))
    new.sort(key=lambda disk: (len(disk.node), disk.node))
    for disk, virtual_disk in zip(new, ours, strict=True):
        handover.check_size(disk, virtual_disk.id, virtual_disk.size_bytes)
    return tuple(new)


def _places(disk: GuestDisk) -> frozenset[str]:
    """Node and number: virtual NVMe controllers of one machine may show one serial number."""
    return frozenset({f"{disk.node} {disk.number}"})


def _is(disk: GuestDisk, virtual_disk: AttachedDisk) -> bool:
    names = {link.removeprefix(_LINK) for link in disk.links if link.startswith(_LINK)}
    identifiers = {text.lower().removeprefix("naa.").removeprefix("uuid.").replace("-", "")
            for text in (disk.wwn, disk.identity)}  # fmt: skip
    return wwn_of(virtual_disk) in names | identifiers
