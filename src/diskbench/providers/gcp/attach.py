"""Attach the disks to a running machine: connect, attach, find them in the guest, verify them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, RentalFailed
from diskbench.providers.gcp import requests
from diskbench.providers.gcp.errors import exists_already, is_busy
from diskbench.providers.gcp.guest import (
    LINK_S,
    find_disk,
    find_local,
    no_link,
    with_unique_identity,
    without_link,
)
from diskbench.providers.gcp.inventory import LIVE, describe, place
from diskbench.providers.gcp.operations import change, last
from diskbench.providers.gcp.provision import ended
from diskbench.providers.gcp.reach import tunnel
from diskbench.providers.guest_disks import disks
from diskbench.providers.skeleton.handover import Machine, disks_before_ours, disks_now
from diskbench.providers.waits import Still
from diskbench.units import GIB

if TYPE_CHECKING:
    from diskbench.providers.gcp.client import Item
    from diskbench.providers.gcp.provision import GcpOrder, GcpProvisioned
    from diskbench.providers.guest import Guest
    from diskbench.providers.guest_disks import GuestDisk


def address_of(order: GcpOrder, made: GcpProvisioned) -> str:
    """The address to connect to: the machine's public address, else its private one."""

    def ask() -> str | Still:
        nic = alive(order, made)["networkInterfaces"][0]
        public = [c["natIP"] for c in nic.get("accessConfigs", []) if c.get("natIP")]
        if public:
            return str(public[0])
        # A public address was requested: the machine has one as soon as it runs.
        waits = bool(nic.get("accessConfigs")) or not nic.get("networkIP")
        return Still("none yet") if waits else str(nic["networkIP"])

    what = f"address of {order.machine_name}"
    return order.until(ask, what, order.timing.instance_s)


def alive(order: GcpOrder, made: GcpProvisioned) -> Item:
    """The machine's present state. Raises RentalFailed when it no longer runs."""
    instance = describe(order.compute, "instances", made.zone, order.machine_name)
    if instance is None:
        raise RentalFailed(
            f"instance {place(made.instance)} is not there any more",
            advice="another program deleted it: start a new run",
        )
    if instance.get("status") not in LIVE:
        raise ended(instance)
    return instance


def machine_of(order: GcpOrder, made: GcpProvisioned) -> Machine:
    """The machine, and how to connect to it."""
    address = address_of(order, made)

    def going() -> None:
        alive(order, made)

    details, user = order.details, order.details.image.user
    through = None
    if details.reach == "iap":
        through = tunnel(details.project, made.zone, order.machine_name)
    access = order.access(address, user, through)
    return Machine(order.machine_name, address, access, going)


def attach(order: GcpOrder, made: GcpProvisioned, guest: Guest) -> tuple[GuestDisk, ...]:
    """Attach the disks and return them as the guest sees them, in order. Raises RentalFailed."""
    names = [order.device_name(index) for index in range(len(made.disks))]
    device_names = {
        str(attached.get("deviceName")) for attached in alive(order, made).get("disks", [])
    }
    before = disks_before_ours(order, guest, attached=bool(device_names.intersection(names)))
    for index in range(len(made.disks)):
        _attach_one(order, made, index)
    return tuple(
        _appeared(order, guest, name, int(disk["sizeGb"]), before)
        for disk, name in zip(made.disks, names, strict=True)
    )


def local_ssds(order: GcpOrder, made: GcpProvisioned, guest: Guest) -> tuple[GuestDisk, ...]:
    """The requested local disks of the machine, each as large as Google says of this machine."""
    requested = order.details.requested
    sizes_gib = [
        int(disk["diskSizeGb"])
        for disk in alive(order, made).get("disks", [])
        if disk.get("type") == "SCRATCH" and disk.get("diskSizeGb")
    ]
    size_gib = sizes_gib[0] if sizes_gib else order.details.machine.local_ssd_gib
    guest_disks = disks_now(order, guest)
    return find_local(guest_disks, requested.count, requested.interface or "nvme", size_gib)


def _attach_one(order: GcpOrder, made: GcpProvisioned, index: int) -> None:
    disk, name = made.disks[index], order.device_name(index)
    attempt = 0

    def ask() -> bool | Still:
        nonlocal attempt
        attachment = _attachment(alive(order, made), str(disk["name"]), name)
        if attachment is not None:
            if not attachment.get("autoDelete"):
                _goes_with_machine(order, made, index)
            return True
        request = requests.attach_disk(
            order.lease,
            order.details.project,
            made.zone,
            index,
            attempt,
            turn=order.claim.turn,
        )
        attempt += 1
        try:
            change(
                order.compute, "instances", "attachDisk", request,
                f"disk {disk['name']}", order.timing.attach_s,
            )  # fmt: skip
        except DiskbenchError as error:
            # An earlier attempt, or a call whose answer was lost, may be in progress already.
            if not (is_busy(error) or exists_already(error)):
                raise
            _refuse_elsewhere(order, made, str(disk["name"]))
            return Still(error.message)
        return Still("attaching")

    what = f"disk {disk['name']}"
    order.until(ask, what, order.timing.attach_s)
    order.watch.note(f"{what} is attached as {name}")


def _attachment(instance: Item, disk_name: str, device_name: str) -> Item | None:
    """The disk's attachment to this machine. Raises RentalFailed when its device name differs."""
    for entry in instance.get("disks", []):
        if last(str(entry.get("source", ""))) == disk_name:
            if entry.get("deviceName") != device_name:
                raise RentalFailed(
                    f"disk {disk_name} is attached as {entry.get('deviceName')}, not {device_name}",
                    advice="give the lease back and start a new run",
                )
            attachment: Item = entry
            return attachment
    return None


def _refuse_elsewhere(order: GcpOrder, made: GcpProvisioned, name: str) -> None:
    """Raise RentalFailed when another machine has the disk."""
    disk = describe(order.compute, "disks", made.zone, name) or {}
    others = [last(str(user)) for user in disk.get("users", [])]
    if others and order.machine_name not in others:
        raise RentalFailed(
            f"disk {name} is attached to {others[0]}, not to {order.machine_name}",
            advice="give the lease back and start a new run",
        )


def _goes_with_machine(order: GcpOrder, made: GcpProvisioned, index: int) -> None:
    claim = order.claim
    request = requests.set_auto_delete(claim.lease_id, made.zone, index, claim.turn)
    what = f"disk {order.device_name(index)}"
    change(order.compute, "instances", "setDiskAutoDelete", request, what, order.timing.attach_s)


def _appeared(
    order: GcpOrder, guest: Guest, name: str, size_gib: int, before: tuple[GuestDisk, ...] | None
) -> GuestDisk:
    known = with_unique_identity(before) if before is not None else None
    size_bytes = size_gib * GIB
    unlinked_since: float | None = None

    def ask() -> GuestDisk | Still:
        nonlocal unlinked_since
        guest_disks = disks(guest.host)
        if (ours := find_disk(guest_disks, name, size_bytes, known)) is not None:
            return ours
        bare = without_link(guest_disks, size_bytes, known)
        if bare is None:
            unlinked_since = None
            return Still(f"/dev/disk/by-id/google-{name} is not seen in the guest yet")
        unlinked_since = unlinked_since or time.monotonic()
        if time.monotonic() - unlinked_since >= LINK_S:
            raise no_link(bare, name)
        return Still(f"{bare.node} is there, and /dev/disk/by-id/google-{name} is not yet")

    return order.ask_guest(f"disk {name}", ask)
