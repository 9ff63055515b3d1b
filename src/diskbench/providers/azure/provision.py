"""Renting: group, network, machine and disks, each looked up by its name, awaited while in
progress, else made."""

import contextlib
import logging
from collections.abc import Callable, Iterator

from diskbench.errors import (
    AccessDenied,
    Busy,
    DiskbenchError,
    Interrupted,
    NotListedYet,
    RentalFailed,
)
from diskbench.providers.azure import requests
from diskbench.providers.azure.client import DISKS, MACHINES, AzureClient, Item, Query, kind_of
from diskbench.providers.azure.errors import refused
from diskbench.providers.azure.requests import AzureOrder, Part, group_name
from diskbench.providers.skeleton.provision import (
    Provisioned,
    disk_kind,
    in_first_with_capacity,
    name_of,
    zones_from,
)
from diskbench.providers.skeleton.shipped import at
from diskbench.providers.waits import Still, nap, until

log = logging.getLogger(__name__)


def read_machine(edge: AzureClient, lease_id: str) -> Item | None:
    """The lease's machine with its present state; None where there is none."""
    path = edge.path(group_name(lease_id), MACHINES, name_of(lease_id, "machine"))
    return edge.find(path, {"$expand": "instanceView"})


def state_of(item: Item) -> str:
    """A resource's provisioning state: Succeeded, Creating, Updating, Failed, Deleting …"""
    return str(at(item, "properties.provisioningState") or "")


def power_of(machine: Item) -> str | None:
    """The power state: running, starting, stopped, deallocated …; None where Azure does not
    report it."""
    codes = (str(status.get("code", "")).partition("/") for status in _statuses(machine))
    return next((state for kind, _, state in codes if kind == "PowerState"), None)


def why_ended(machine: Item) -> str | None:
    """The machine's state with Azure's message about it; None while it is usable."""
    state = state_of(machine)
    if state not in {"Failed", "Deleting"}:
        state = str(power_of(machine))
        if state not in {"stopping", "stopped", "deallocating", "deallocated"}:
            return None
    statuses = [status for status in _statuses(machine) if status.get("message")]
    messages = [
        f"{one.get('displayStatus') or one.get('code')}: {one['message']}" for one in statuses
    ]
    reason = "; ".join(messages) or "Azure gives no reason"
    return f"{machine['name']} is {state.lower()}: {reason}"


def _statuses(machine: Item) -> list[Item]:
    return at(machine, "properties.instanceView.statuses") or []


def provision(order: AzureOrder) -> Provisioned:
    """The machine and disks of the lease, made or found; zones are tried in order. Raises
    NoCapacity when every zone lacks capacity, RentalFailed with Azure's reason for what failed."""
    _group(order)
    zones: tuple[str | None, ...] = order.details.zones or (None,)
    held_zone = next(iter((read_machine(order.edge, order.lease) or {}).get("zones") or []), None)
    region = order.details.region
    return in_first_with_capacity(
        zones_from(zones, held_zone), lambda zone: _in_zone(order, zone), lambda: _undo(order),
        order.watch, region=region, name=lambda zone: f"zone {zone}" if zone else region,
    )  # fmt: skip


def _group(order: AzureOrder) -> None:
    path, unlisted = order.edge.path(order.group), Still("made, not listed yet")
    order.edge.sent("PUT", path, requests.resource_group(order))
    # A group that Azure does not list yet would be missed by a release.
    order.until(
        lambda: order.edge.find(path) or unlisted,
        f"resource-group {order.group}", order.timing.network_s,
    )  # fmt: skip
    order.watch.note(f"created resource group {order.group}")


def _in_zone(order: AzureOrder, zone: str | None) -> Provisioned:
    """Machine and disks in one zone. Raises NoCapacity."""
    network = requests.network(order)
    # An interface is deleted with its machine: the next zone may need a new one.
    interface = order.edge.find(network[-1].path)
    if interface is None or state_of(interface) != "Succeeded":
        for part in network:
            put(order, part, order.timing.network_s)
    in_zone = f" in zone {zone}" if zone else ""
    machine = requests.machine(order, zone)
    note = f"{machine.words} is being made: {order.details.machine.size}{in_zone}"
    put(order, machine, order.timing.machine_s, note)
    disks = disks_of_turn(order, zone)
    return Provisioned(running(order), disks, zone)


def disks_of_turn(order: AzureOrder, zone: str | None) -> tuple[Item, ...]:
    """The disks of this turn on the machine, made or found."""
    made = []
    for part in requests.disks(order, zone):
        made.append(put(order, part, order.timing.disk_s))
        size = f"{order.details.requested.type}, {order.details.size_gib} GiB"
        order.watch.note(f"{part.words} is there: {size}")
    return tuple(made)


def snapshot(order: AzureOrder, fill: Callable[[], None]) -> str:
    """The id of the lease's snapshot of its first disk, made or found, complete. It is in the
    lease's group, and goes with it. Raises RentalFailed."""
    part = requests.snapshot(order)
    if order.edge.find(part.path) is None:
        fill()
        if order.edge.find(order.path(DISKS, disk_kind(0, order.claim.turn))) is None:
            raise RentalFailed("the filled disk is gone", advice="start a new run")
    put(order, part, order.timing.snapshot_s)

    def ask() -> bool | Still:
        percent = at(order.edge.find(part.path), "properties.completionPercent")
        # A disk of Premium SSD v2 can be made of a complete one only.
        return True if percent in {None, 100} else Still(f"{percent:g}% copied")

    order.until(ask, part.words, order.timing.snapshot_s)
    return part.path


def running(order: AzureOrder) -> Item:
    """Wait until the machine is made and runs. Raises RentalFailed."""

    def ask() -> Item | Still:
        machine = listed_machine(order)
        if state_of(machine) in {"Creating", "Updating"}:
            return Still(state_of(machine))
        power = power_of(machine)
        return Still(f"{power}") if power in {"starting", "unknown"} else machine

    return order.until(ask, f"machine {order.machine_name}", order.timing.machine_s)


def alive(order: AzureOrder) -> Item | None:
    """The machine if it is still usable. Raises with Azure's reason when it has ended."""
    machine = read_machine(order.edge, order.lease)
    if machine is None:
        return None
    if ended := why_ended(machine):
        raise RentalFailed(f"machine {ended}", advice="another program ended it: start a new run")
    return machine


def listed_machine(order: AzureOrder) -> Item:
    """The lease's machine. Raises RentalFailed where Azure does not list it, or it has ended."""
    machine = alive(order)
    if machine is None:
        raise refused("machine not listed", order=order)
    return machine


def _undo(order: AzureOrder) -> None:
    """Delete what was made in a zone without capacity, and wait until it is gone: resources of the
    next zone have the same names. A failed deletion is left to the release; raises AccessDenied,
    which the next zone would raise as well."""
    with _leaving_failures():
        # A machine that was refused at once was never there: its interface serves the next zone.
        if read_machine(order.edge, order.lease) is not None:
            delete(order.edge, order.path(MACHINES, "machine"))
            interface = requests.network(order)[-1]
            await_gone(order.edge, interface.path, interface.words, order.timing.network_s)
    for role in ("os", *(disk_kind(n) for n in range(order.details.requested.count))):
        disk = order.path(DISKS, role)
        with _leaving_failures():
            if order.edge.find(disk) is not None:
                delete(order.edge, disk)


@contextlib.contextmanager
def _leaving_failures() -> Iterator[None]:
    try:
        yield
    except (AccessDenied, Interrupted):
        raise
    except DiskbenchError as error:
        log.warning("not deleted yet: %s", error.message)


def put(order: AzureOrder, part: Part, limit_s: float, note: str = "") -> Item:
    """The existing resource, or the one made by the part's request; `note` is told before that is
    sent. Raises diskbench's errors, RentalFailed when it takes longer than `limit_s`."""

    made = False

    def ask() -> Item | Still:
        nonlocal made
        existing = order.edge.find(part.path)
        state = state_of(existing or {})
        if state in {"Creating", "Updating", "Deleting"}:
            return Still(state)
        if existing is not None and state != "Failed":
            return existing
        if existing is None and made:
            return Still("made, not listed yet")
        if note:
            order.watch.note(note)
        request = (part.words, limit_s, "PUT", part.path, part.request)
        try:
            return order.edge.finished(*request, insist=False)
        except NotListedYet:
            made = True
            return Still("made, not listed yet")
        except Busy as busy:
            nap(min(busy.retry_after_s, limit_s), order.timing, order.watch)
            return Still("under way already")

    return order.until(ask, part.words, limit_s)


def delete(edge: AzureClient, path: str, query: Query = None) -> None:
    """Delete a machine or a disk, and wait until Azure does not list it any more: what has the same
    name next must not be taken for it. Raises diskbench's errors."""
    is_machine = kind_of(path) == MACHINES
    role = "machine" if is_machine else "disk"
    limit_s = edge.timing.machine_s if is_machine else edge.timing.disk_s
    what = f"{role} {path.rpartition('/')[2]}"
    edge.finished(what, limit_s, "DELETE", path, query=query)
    await_gone(edge, path, what, limit_s)


def await_gone(edge: AzureClient, path: str, what: str, limit_s: float) -> None:
    """Wait until Azure does not list a deleted resource any more. Raises RentalFailed."""
    listed = Still("deleted, still listed")
    until(lambda: listed if edge.find(path) else None, what, limit_s, edge.timing, edge.watch)
