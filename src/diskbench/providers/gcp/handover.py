"""From what was made to what is handed over: reached, found in the guest, read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import RentalFailed
from diskbench.model.disk import Acquired
from diskbench.model.ours import Which
from diskbench.providers.gcp import attach, readback
from diskbench.providers.gcp.describe import describe
from diskbench.providers.gcp.inventory import inventory, place
from diskbench.providers.gcp.operations import last
from diskbench.providers.guest import ROOT_DIRECTORY, Guest, await_prepared
from diskbench.units import GIB

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.model.disk import SshAccess
    from diskbench.providers.gcp.edge import Item
    from diskbench.providers.gcp.provision import Made, Order
    from diskbench.providers.guest_disks import GuestDisk


def hand_over(order: Order, made: Made, access_at: Callable[[str], SshAccess]) -> Acquired:
    """The machine with its disk, proved. Raises RentalFailed for anything not as asked."""
    address = attach.address_of(order, made)
    access = access_at(address)
    host = order.watch.host(access, address)
    try:
        guest = Guest(host, address)
        attach.reach(order, made, guest)
        kind = order.details.wanted.kind
        disks: tuple[GuestDisk, ...] = ()
        if kind == "disk":
            disks = attach.attach(order, made, guest)
        elif kind == "local-ssd":
            disks = attach.local_ssds(order, guest)
        await_prepared(guest, order.machine_name, order.timing, order.watch)
    finally:
        host.close()
    return _acquired(order, made, address, access, disks)


def _acquired(
    order: Order, made: Made, address: str, access: SshAccess, disks: tuple[GuestDisk, ...]
) -> Acquired:
    details = order.details
    instance = attach.alive(order, made)
    volumes = [_disk(order, made, str(disk["name"])) for disk in made.disks]
    if details.wanted.kind == "root":
        volumes = [_root_disk(order, made, instance)]
    readback.check(details, made.zone, instance, volumes)
    sizes = [disk.size_bytes for disk in disks] or [int(v["sizeGb"]) * GIB for v in volumes]
    return Acquired(
        address=address,
        device=disks[0].path if disks else None,
        directory=None if disks else ROOT_DIRECTORY,
        devices=tuple(disk.path for disk in disks),
        identities=tuple(disk.identity for disk in disks),
        identity=disks[0].identity if disks else None,
        made=_all_made(order, made, volumes),
        size_bytes=sizes[0],
        facts=readback.facts(details, made.zone, instance, volumes, disks),
        emulated=details.emulated,
        ssh=access,
    )


def _all_made(order: Order, made: Made, volumes: list[Item]) -> tuple[str, ...]:
    """Kinds and names of everything of the lease. A listing by label may lag behind what was made,
    so what is known to be there is added."""
    listed = inventory(order.compute, Which(order.claim.lease_id)).names()
    disks = [f"disk {place(one)}" for one in volumes]
    attached = [
        f"disk {made.zone}/{last(str(one['source']))}"
        for one in made.instance.get("disks", [])
        if one.get("source")
    ]
    instance = f"instance {made.zone}/{order.machine_name}"
    return tuple(sorted({*listed, *disks, *attached, instance}))


def _disk(order: Order, made: Made, name: str) -> Item:
    found = describe(order.compute, "disks", made.zone, name)
    if found is None:
        raise RentalFailed(
            f"disk {made.zone}/{name} is not there any more", advice="somebody deleted it"
        )
    return found


def _root_disk(order: Order, made: Made, instance: Item) -> Item:
    for held in instance.get("disks", []):
        if held.get("boot") and held.get("source"):
            return _disk(order, made, last(str(held["source"])))
    raise RentalFailed(f"instance {made.zone}/{order.machine_name} has no root disk")
