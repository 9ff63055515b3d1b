"""Swap the disks of a machine that stays: those of earlier turns are deleted before new ones are
attached.

They have the same LUNs, so the removal of each is verified, by Azure and in the guest, before
the next is attached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.errors import DiskbenchError, RentalFailed
from diskbench.providers.azure import attach
from diskbench.providers.azure.errors import is_missing
from diskbench.providers.azure.guest import is_at_lun
from diskbench.providers.azure.inventory import DISKS, GROUPS, state_of
from diskbench.providers.azure.provision import AzureProvisioned, disks_of_turn, running
from diskbench.providers.azure.put import delete
from diskbench.providers.azure.requests import name_of
from diskbench.providers.guest import disks
from diskbench.providers.skeleton.handover import reached
from diskbench.providers.waits import Still

if TYPE_CHECKING:
    from diskbench.providers.azure.client import Item
    from diskbench.providers.azure.provision import AzureOrder
    from diskbench.providers.guest import Guest


def swapped(order: AzureOrder) -> AzureProvisioned:
    """The lease's machine and the disks of this turn; idempotent. Raises RentalFailed."""
    zone = _zone(order, attach.listed_machine(order))
    earlier = _detached(order)
    if earlier:
        with reached(order, attach.machine_of(order)) as guest:
            _await_gone(order, guest, earlier)
    for name in _earlier_disks(order):
        _delete(order, name)
    made = disks_of_turn(order, zone)
    return AzureProvisioned(running(order), made, zone)


def _zone(order: AzureOrder, machine: Item) -> str | None:
    machine_zone = next((str(zone) for zone in machine.get("zones") or []), None)
    zones = order.details.zones
    if zones and machine_zone not in zones:
        raise RentalFailed(
            f"machine {machine['name']} is in {machine_zone or 'no'} zone, which has no such disk",
            advice="start a new run",
        )
    return machine_zone


def _is_earlier(order: AzureOrder, name: str) -> bool:
    """Whether a disk was measured in another turn."""
    mine = {order.disk_name(index) for index in range(order.details.requested.count)}
    return name.startswith(name_of(order.lease, "disk-")) and name not in mine


def _detached(order: AzureOrder) -> list[int]:
    """Detach the disks of earlier turns; returns their LUNs."""
    luns: dict[int, None] = {}

    def ask() -> bool | Still:
        machine = attach.listed_machine(order)
        if state_of(machine) == "Updating":
            return Still("the machine is being changed")
        attached = attach.data_disks(machine)
        going = [entry for entry in attached if _is_earlier(order, _name(entry))]
        if not going:
            return True
        luns.update({int(entry["lun"]): None for entry in going})
        return attach.change(
            order, [entry for entry in attached if entry not in going], "detaching"
        )

    what = f"the disks of {name_of(order.lease, 'machine')}"
    order.until(ask, what, order.timing.attach_s)
    return list(luns)


def _name(attached: dict[str, Any]) -> str:
    return str((attached.get("managedDisk") or {}).get("id", "")).rpartition("/")[2]


def _await_gone(order: AzureOrder, guest: Guest, luns: list[int]) -> None:
    """Wait until the guest shows none of them: the next disks have the same names there."""

    def ask() -> bool | Still:
        shown = disks(guest.host)
        still_shown = [str(lun) for lun in luns if any(is_at_lun(disk, lun) for disk in shown)]
        return (
            Still(f"LUN {', '.join(still_shown)} is still seen in the guest")
            if still_shown
            else True
        )

    order.ask_guest("the disks before", ask)


def _earlier_disks(order: AzureOrder) -> list[str]:
    listed = order.edge.listed(
        f"{GROUPS}/resources/read", "resources", "resources.list_by_resource_group", order.group
    )
    names = [str(item["name"]) for item in listed if str(item.get("type")).lower() == DISKS.lower()]
    return [name for name in names if _is_earlier(order, name)]


def _delete(order: AzureOrder, name: str) -> None:
    try:
        delete(order.edge, DISKS, order.group, name)
    except DiskbenchError as error:
        if not is_missing(error):
            raise
    order.watch.note(f"disk {name} is deleted")
