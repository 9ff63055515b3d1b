"""From what was made to what is handed over: reached, found in the guest, read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.errors import RentalFailed
from diskbench.model.disk import Acquired
from diskbench.providers.azure import attach, deadman, readback
from diskbench.providers.azure import guest as azure_guest
from diskbench.providers.azure.inventory import read_disk
from diskbench.providers.azure.provision import running
from diskbench.providers.azure.requests import name_of
from diskbench.providers.guest import ROOT_DIRECTORY, Guest, ask_guest, await_prepared
from diskbench.providers.guest_disks import disks
from diskbench.units import GIB

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.model.disk import SshAccess
    from diskbench.providers.azure.edge import Item
    from diskbench.providers.azure.provision import Made, Order
    from diskbench.providers.guest_disks import GuestDisk


@dataclass(frozen=True)
class _Seen:
    """What was found in the guest: disks, or a directory on one; and what led there."""

    disks: tuple[GuestDisk, ...] = ()
    directory: str | None = None
    cache_changes: tuple[str, ...] = ()


def hand_over(order: Order, made: Made, access_at: Callable[[str], SshAccess]) -> Acquired:
    """The machine with its disk, proved. Raises RentalFailed for anything not as asked."""
    name = name_of(order.lease, "machine")
    dead_man = deadman.arm(order.edge, order.claim, order.details.region, str(made.machine["id"]))
    order.watch.note(f"switch of Azure's own for {name}: {dead_man}")
    address = attach.address_of(order)
    access = access_at(address)
    host = order.watch.host(access, address)
    try:
        guest = Guest(host, address)
        attach.reach(order, guest)
        seen = _look(order, made, guest)
        await_prepared(guest, name, order.timing, order.watch)
    finally:
        host.close()
    return _acquired(order, made, address, access, seen, dead_man)


def _look(order: Order, made: Made, guest: Guest) -> _Seen:
    kind = order.details.wanted.kind
    if kind == "root":
        return _Seen(directory=ROOT_DIRECTORY)
    if kind == "disk":
        found, changes = attach.attach(order, made, guest)
        return _Seen(found, cache_changes=tuple(changes))
    found = ask_guest(
        "its own disks",
        lambda: azure_guest.find_local(disks(guest.host), order.details.wanted.count),
        order.timing, order.watch,
    )  # fmt: skip
    where = azure_guest.mounted_at(guest.host, found[0])
    # A temporary disk that the first boot formatted is measured through a file on it.
    return _Seen(found, directory=where)


def _acquired(
    order: Order, made: Made, address: str, access: SshAccess, seen: _Seen, dead_man: str
) -> Acquired:
    details = order.details
    machine = running(order)
    names = {
        "disk": [order.disk_name(index) for index in range(details.wanted.count)],
        "root": [name_of(order.lease, "os")],
        "local": [],
    }[details.wanted.kind]
    measured = [_disk(order, name) for name in names]
    readback.check(details, made.zone, machine, measured)
    sizes = [disk.size_bytes for disk in seen.disks] or [
        int(disk["properties"]["diskSizeGB"]) * GIB for disk in measured
    ]
    raw = () if seen.directory else seen.disks
    more = {"dead_man": dead_man, "cache_changes": list(seen.cache_changes)}
    return Acquired(
        address=address,
        device=azure_guest.path(raw[0]) if raw else None,
        directory=seen.directory,
        devices=tuple(azure_guest.path(disk) for disk in raw),
        identities=tuple(azure_guest.identity(disk) for disk in raw),
        identity=azure_guest.identity(raw[0]) if raw else None,
        size_bytes=sizes[0],
        facts=readback.facts(order, made, machine, measured, seen.disks, more),
        emulated=details.emulated,
        ssh=access,
    )


def _disk(order: Order, name: str) -> Item:
    found = read_disk(order.edge, order.lease, name)
    if found is None:
        raise RentalFailed(f"disk {name} is not listed any more", advice="somebody deleted it")
    return found
