"""Disks at a running machine: attach them, find and verify them in the guest, swap them.

Links by LUN: the udev rules of WALinuxAgent (scsi1/lunN, resource) and of azure-vm-utils
(data/by-lun/N, local/by-serial/…; Azure's NVMe document of 2025-09-03). Without the latter, as in
Debian 12, an NVMe disk has none: there the OS disk is namespace 1 of the controller of remote
disks, and LUN N is N + 2 (azure-vm-utils, 80-azure-disk.rules, azure-nvme-id; "SCSI to NVMe")."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from diskbench.errors import Busy
from diskbench.ports import Host
from diskbench.providers.azure import provision, requests
from diskbench.providers.azure.client import DISKS, MACHINES, Item
from diskbench.providers.azure.errors import is_missing, refused
from diskbench.providers.azure.requests import AzureOrder
from diskbench.providers.azure.teardown import inside, is_kind
from diskbench.providers.guest import GuestDisk, disks
from diskbench.providers.skeleton import handover
from diskbench.providers.skeleton.cloud import unless_missing
from diskbench.providers.skeleton.provision import Provisioned
from diskbench.providers.skeleton.shipped import at
from diskbench.providers.waits import Still, nap
from diskbench.units import GIB


def machine_of(order: AzureOrder) -> handover.Machine:
    """The machine, and how to connect to it: at its public address, else its private one."""
    public, private = ("publicIPAddresses", "address"), ("networkInterfaces", "interface")
    kind, role = public if order.details.subnet is None else private
    path = order.path(f"Microsoft.Network/{kind}", role)

    def ask() -> str | Still:
        found = order.edge.find(path) or {}
        (configured, *_) = at(found, "properties.ipConfigurations") or [{}]
        private = at(configured, "properties.privateIPAddress")
        return at(found, "properties.ipAddress") or private or Still("none yet")

    name = order.machine_name
    address = order.until(ask, f"address of {name}", order.timing.network_s)
    access = order.access(address, requests.USER)

    def going() -> Still | None:
        there = provision.alive(order)
        return None if there else Still("Azure does not list its machine")

    return handover.Machine(f"machine {name}", address, access, going)


def attach(
    order: AzureOrder, made: Provisioned, guest: Host
) -> tuple[tuple[GuestDisk, ...], list[str]]:
    """The disks as they appear in the guest, in order of LUN; with the changes made to reach the
    requested host cache. Raises RentalFailed."""
    already = bool(data_disks(made.machine))
    before = handover.disks_before_ours(order, guest, attached=already)
    changes = [
        change for lun, disk in enumerate(made.disks) for change in _attach_one(order, disk, lun)
    ]
    guest_disks = tuple(
        _appeared(order, guest, disk, lun, before) for lun, disk in enumerate(made.disks)
    )
    return guest_disks, changes


def _attach_one(order: AzureOrder, disk: Item, lun: int) -> list[str]:
    """Attach a disk with the requested host cache. A disk attached with another cache is detached
    first: only then is the cache empty and the setting certain. Returns the changes."""
    disk_id, name = str(disk["id"]), str(disk["name"])
    caching = order.details.requested.caching
    assert caching is not None, "a disk that is attached has a host cache, if only None"
    changes: dict[str, None] = {}

    def ask() -> list[str] | Still:
        machine = provision.listed_machine(order)
        if provision.state_of(machine) == "Updating":
            return Still("the machine is being changed")
        attached = data_disks(machine)
        mine = next((entry for entry in attached if is_of(entry, disk_id)), None)
        others = [entry for entry in attached if not is_of(entry, disk_id)]
        if mine is None:
            attachment = requests.attachment(disk_id, lun, caching)
            return change(order, [*others, attachment], "attaching")
        if mine.get("lun") == lun and (mine.get("caching") or "None") == caching:
            return list(changes)
        was = mine.get("caching") or "None"
        changes[f"{name}: host cache {was} to {caching}, detached and attached for it"] = None
        return change(order, others, "detaching")

    changed = order.until(ask, f"disk {name}", order.timing.attach_s)
    order.watch.note(f"disk {name} is attached as LUN {lun}, host cache {caching}")
    return changed


def change(order: AzureOrder, attached: list[dict[str, Any]], what: str) -> Still:
    """Set the machine's data disks; the result is checked afterwards."""
    name = order.machine_name
    try:
        order.edge.finished(
            f"{what} at {name}", order.timing.attach_s, "PATCH", order.path(MACHINES, "machine"),
            requests.data_disks(attached), insist=False,
        )  # fmt: skip
    except Busy as busy:
        nap(min(busy.retry_after_s, order.timing.attach_s), order.timing, order.watch)
        return Still("the machine is being changed")
    return Still(what)


def data_disks(machine: Item) -> list[dict[str, Any]]:
    """The attached data disks, in the form of a request."""
    fields = ("lun", "name", "createOption", "caching", "deleteOption", "managedDisk")
    attached = at(machine, "properties.storageProfile.dataDisks") or []
    return [{key: entry[key] for key in fields if key in entry} for entry in attached]


def _id(attached: Item) -> str:
    return str(at(attached, "managedDisk.id") or "")


def is_of(attached: Item, disk_id: str) -> bool:
    """Whether a machine's attachment is that of a disk."""
    return _id(attached).lower() == disk_id.lower()


def _appeared(
    order: AzureOrder, guest: Host, disk: Item, lun: int, before: tuple[GuestDisk, ...] | None
) -> GuestDisk:
    size, unseen = int(disk["properties"]["diskSizeGB"]) * GIB, Still("not seen in the guest yet")
    return order.ask_guest(
        f"disk {disk['name']}", lambda: find_lun(disks(guest), lun, size, before) or unseen
    )


def swapped(order: AzureOrder) -> Provisioned:
    """The lease's machine and the disks of this turn, once those of earlier turns, which have the
    same LUNs, are gone, by Azure and in the guest; idempotent. Raises RentalFailed."""
    machine, zones = provision.listed_machine(order), order.details.zones
    zone = next((str(zone) for zone in machine.get("zones") or []), None)
    if zones and zone not in zones:
        raise refused("machine in a zone without the disk", machine=machine, zone=zone or "no")
    if earlier := _detached(order):
        with handover.reached(order, machine_of(order)) as guest:
            handover.await_gone(
                order, guest, "the disks before",
                lambda shown: [
                    f"LUN {lun}" for lun in earlier if any(is_at_lun(disk, lun) for disk in shown)
                ],
            )  # fmt: skip
    for item in inside(order.edge, order.group):
        name, count = str(item["name"]), order.details.requested.count
        if is_kind(item, DISKS) and order.is_earlier(name, count):
            path = order.edge.path(order.group, DISKS, name)
            unless_missing(partial(provision.delete, order.edge, path), is_missing)
            order.watch.note(f"disk {name} is deleted")
    made = provision.disks_of_turn(order, zone)
    return Provisioned(provision.running(order), made, zone)


def _detached(order: AzureOrder) -> list[int]:
    """Detach the disks of earlier turns; returns their LUNs."""
    luns: dict[int, None] = {}
    count = order.details.requested.count

    def ask() -> bool | Still:
        machine = provision.listed_machine(order)
        if provision.state_of(machine) == "Updating":
            return Still("the machine is being changed")
        attached = data_disks(machine)
        going = [one for one in attached if order.is_earlier(_id(one).rpartition("/")[2], count)]
        if not going:
            return True
        luns.update({int(entry["lun"]): None for entry in going})
        return change(order, [entry for entry in attached if entry not in going], "detaching")

    order.until(ask, f"the disks of {order.machine_name}", order.timing.attach_s)
    return list(luns)


_LUN_LINKS = ("/dev/disk/azure/scsi1/lun{lun}", "/dev/disk/azure/data/by-lun/{lun}")
_LUN_LINK_BEGINNINGS = tuple(link.partition("{")[0] for link in _LUN_LINKS)
_RESOURCE = "/dev/disk/azure/resource"
_LOCAL = "/dev/disk/azure/local/by-serial/"
_REMOTE_MODEL = "MSFT NVMe Accelerator"
_FIRST_LUN_NAMESPACE = 2
_LOCAL_MODEL = "Microsoft NVMe Direct Disk"


def find_lun(
    guest_disks: Iterable[GuestDisk], lun: int, size_bytes: int, before: Sequence[GuestDisk] | None
) -> GuestDisk | None:
    """The guest's disk attached as `lun`, verified by name, novelty and exact size in bytes: pure.
    None while it has not appeared yet. Raises RentalFailed when another disk appeared instead."""
    matches = [disk for disk in guest_disks if is_at_lun(disk, lun)]
    if len(matches) == 1 and before is None:
        raise refused("disk not seen to appear", matches=matches)
    known = frozenset(key for disk in before or () for key in keys(disk))
    return handover.verified(matches, f"LUN {lun}", size_bytes, known, keys=keys)


def is_at_lun(disk: GuestDisk, lun: int) -> bool:
    """Whether a disk is attached as `lun`: by its names, else by its NVMe namespace."""
    if any(link.startswith(_LUN_LINK_BEGINNINGS) for link in disk.links):
        return not {link.format(lun=lun) for link in _LUN_LINKS}.isdisjoint(disk.links)
    remote = disk.model.startswith(_REMOTE_MODEL)
    return remote and disk.namespace == lun + _FIRST_LUN_NAMESPACE


def identity(disk: GuestDisk) -> str:
    """The disk's identity for the check before a write: disks of one NVMe controller share its
    serial and differ in WWN."""
    return disk.wwn or disk.identity


def keys(disk: GuestDisk) -> frozenset[str]:
    """The keys that recognise the disk later."""
    return frozenset({identity(disk) or disk.node, f"{disk.node} {disk.number}"})


def path(disk: GuestDisk) -> str:
    """The device name that does not depend on other attached disks."""
    return next((link for link in disk.links if link.startswith("/dev/disk/azure/")), disk.node)


def find_local(guest_disks: Iterable[GuestDisk], count: int) -> tuple[GuestDisk, ...]:
    """The first `count` local disks of the machine: the NVMe disks, else the temporary disk: pure.
    Raises RentalFailed."""
    listed = sorted(guest_disks, key=lambda disk: (len(disk.node), disk.node))
    local = [
        disk
        for disk in listed
        if disk.model.startswith(_LOCAL_MODEL) or any(x.startswith(_LOCAL) for x in disk.links)
    ] or [disk for disk in listed if _RESOURCE in disk.links]
    if len(local) < count:
        raise refused("fewer local disks", seen=len(local), count=count)
    return tuple(local[:count])
