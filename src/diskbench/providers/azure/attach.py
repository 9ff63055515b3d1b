"""Attach the disks to a running machine: connect, attach, find them in the guest, verify them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.errors import Busy, RentalFailed
from diskbench.providers.azure import guest as azure_guest
from diskbench.providers.azure import requests
from diskbench.providers.azure.inventory import MACHINES, read, state_of
from diskbench.providers.azure.provision import alive
from diskbench.providers.azure.requests import name_of
from diskbench.providers.guest import disks
from diskbench.providers.skeleton.handover import Machine, disks_before_ours
from diskbench.providers.waits import Still, nap
from diskbench.units import GIB

if TYPE_CHECKING:
    from diskbench.providers.azure.client import Item
    from diskbench.providers.azure.provision import AzureOrder, AzureProvisioned
    from diskbench.providers.guest import Guest, GuestDisk

_NETWORK = "Microsoft.Network"


def address_of(order: AzureOrder) -> str:
    """The address to connect to: the machine's public address, else its private one."""
    role = "address" if order.details.subnet is None else "interface"

    def ask() -> str | Still:
        address = _public(order) if role == "address" else _private(order)
        return address or Still("none yet")

    what = f"address of {name_of(order.lease, 'machine')}"
    return order.until(ask, what, order.timing.network_s)


def _public(order: AzureOrder) -> str | None:
    address = read(
        order.edge, f"{_NETWORK}/publicIPAddresses/read", "network", "public_ip_addresses.get",
        order.group, name_of(order.lease, "address"),
    )  # fmt: skip
    return ((address or {}).get("properties") or {}).get("ipAddress")


def _private(order: AzureOrder) -> str | None:
    interface = read(
        order.edge, f"{_NETWORK}/networkInterfaces/read", "network", "network_interfaces.get",
        order.group, name_of(order.lease, "interface"),
    )  # fmt: skip
    configured = ((interface or {}).get("properties") or {}).get("ipConfigurations") or [{}]
    return (configured[0].get("properties") or {}).get("privateIPAddress")


def machine_of(order: AzureOrder) -> Machine:
    """The machine, and how to connect to it."""
    address = address_of(order)

    def there() -> Still | None:
        return None if alive(order) is not None else Still("Azure does not list its machine")

    access = order.access(address, requests.USER)
    return Machine(f"machine {name_of(order.lease, 'machine')}", address, access, there)


def attach(
    order: AzureOrder, made: AzureProvisioned, guest: Guest
) -> tuple[tuple[GuestDisk, ...], list[str]]:
    """The disks as they appear in the guest, in order of LUN; with the changes made to reach the
    requested host cache. Raises RentalFailed."""
    already = bool(data_disks(made.machine))
    before = disks_before_ours(order, guest, attached=already)
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
        machine = listed_machine(order)
        if state_of(machine) == "Updating":
            return Still("the machine is being changed")
        attached = data_disks(machine)
        mine = next((entry for entry in attached if _is(entry, disk_id)), None)
        others = [entry for entry in attached if not _is(entry, disk_id)]
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
    name = name_of(order.lease, "machine")
    try:
        order.edge.finished(
            f"{what} at {name}", order.timing.attach_s, f"{MACHINES}/write",
            "compute", "virtual_machines.begin_update",
            order.group, name, requests.data_disks(attached), insist=False,
        )  # fmt: skip
    except Busy as busy:
        nap(min(busy.retry_after_s, order.timing.attach_s), order.timing, order.watch)
        return Still("the machine is being changed")
    return Still(what)


def listed_machine(order: AzureOrder) -> Item:
    """The lease's machine. Raises RentalFailed where Azure does not list it."""
    machine = alive(order)
    if machine is None:
        raise RentalFailed(
            f"machine {name_of(order.lease, 'machine')} is not listed any more",
            advice="another program deleted it: start a new run",
        )
    return machine


def data_disks(machine: Item) -> list[dict[str, Any]]:
    """The attached data disks, in the form of a request."""
    profile = (machine.get("properties") or {}).get("storageProfile") or {}
    fields = ("lun", "name", "createOption", "caching", "deleteOption", "managedDisk")
    return [
        {key: entry[key] for key in fields if key in entry}
        for entry in profile.get("dataDisks") or []
    ]


def _is(attached: dict[str, Any], disk_id: str) -> bool:
    return str((attached.get("managedDisk") or {}).get("id", "")).lower() == disk_id.lower()


def _appeared(
    order: AzureOrder, guest: Guest, disk: Item, lun: int, before: tuple[GuestDisk, ...] | None
) -> GuestDisk:
    size = int(disk["properties"]["diskSizeGB"]) * GIB

    def ask() -> GuestDisk | Still:
        guest_disk = azure_guest.find_lun(disks(guest.host), lun, size, before)
        return guest_disk or Still("not seen in the guest yet")

    return order.ask_guest(f"disk {disk['name']}", ask)
