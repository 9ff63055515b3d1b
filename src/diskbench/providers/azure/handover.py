"""Handover of a rented machine: connect to it, find its disk in the guest, read everything back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import RentalFailed
from diskbench.providers.azure import attach, deadman, readback
from diskbench.providers.azure import guest as azure_guest
from diskbench.providers.azure.inventory import SHUTDOWN, inside, read_disk
from diskbench.providers.azure.provision import running
from diskbench.providers.azure.requests import name_of
from diskbench.providers.guest import ROOT_DIRECTORY, await_prepared, disks
from diskbench.providers.skeleton.handover import Seen, acquired, reached
from diskbench.providers.waits import Still
from diskbench.units import GIB

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.disk import Acquired
    from diskbench.providers.azure.client import Item
    from diskbench.providers.azure.provision import AzureOrder, AzureProvisioned
    from diskbench.providers.guest import Guest


def hand_over(order: AzureOrder, made: AzureProvisioned) -> Acquired:
    """The machine with its verified disk. Raises RentalFailed where it differs from the request."""
    name = name_of(order.lease, "machine")
    dead_man = deadman.arm(order.edge, order.claim, order.details.region, str(made.machine["id"]))
    order.watch.note(deadman.message(name, dead_man))
    reach = attach.machine_of(order)
    with reached(order, reach) as guest:
        seen, cache_changes = _find_disks(order, made, guest)
        await_prepared(guest, name, order.timing, order.watch)
    details = order.details
    machine = running(order)
    names = {
        "disk": [order.disk_name(index) for index in range(details.requested.count)],
        "root": [name_of(order.lease, "os")],
        "local": [],
    }[details.requested.kind]
    measured = [_disk(order, name) for name in names]
    readback.check(details, made.zone, machine, measured)
    sizes = [disk.size_bytes for disk in seen.disks] or [
        int(disk["properties"]["diskSizeGB"]) * GIB for disk in measured
    ]
    _await_listed(order, names, scheduled=dead_man == deadman.SCHEDULE_MADE)
    more = {"dead_man": dead_man, "cache_changes": cache_changes}
    return acquired(
        order,
        reach,
        seen,
        size_bytes=sizes[0],
        facts=readback.facts(order, made, machine, measured, seen.disks, more),
        path=azure_guest.path,
        identity=azure_guest.identity,
    )


def _await_listed(order: AzureOrder, disks: Sequence[str], *, scheduled: bool) -> None:
    """Wait a while until the listing of the lease's group, by which the lease is extended, shows
    machine, disks and schedule. Listings may lag for minutes, so a timeout is only noted."""
    machine = name_of(order.lease, "machine")
    expected = {machine, name_of(order.lease, "os"), *disks}
    expected |= {f"{SHUTDOWN}{machine}"} if scheduled else set()

    def ask() -> bool | Still:
        listed = {str(item["name"]).lower() for item in inside(order.edge, {"name": order.group})}
        missing = sorted(name for name in expected if name.lower() not in listed)
        return Still(f"not listed yet: {', '.join(missing)}") if missing else True

    try:
        order.until(ask, f"listing of {order.group}", order.timing.settle_s)
    except RentalFailed as error:
        order.watch.note(error.message)


def _find_disks(order: AzureOrder, made: AzureProvisioned, guest: Guest) -> tuple[Seen, list[str]]:
    """The disks in the guest, and the changes made to reach the requested host cache."""
    requested = order.details.requested
    if requested.kind == "root":
        return Seen(directory=ROOT_DIRECTORY), []
    if requested.kind == "disk":
        guest_disks, changes = attach.attach(order, made, guest)
        return Seen(guest_disks), changes
    guest_disks = order.ask_guest(
        "its own disks", lambda: azure_guest.find_local(disks(guest.host), requested.count)
    )
    # A temporary disk that the first boot formatted is measured through a file on its file system.
    return Seen(guest_disks, azure_guest.mounted_at(guest.host, guest_disks[0])), []


def _disk(order: AzureOrder, name: str) -> Item:
    disk = read_disk(order.edge, order.lease, name)
    if disk is None:
        raise RentalFailed(
            f"disk {name} is not listed any more", advice="another program deleted it"
        )
    return disk
