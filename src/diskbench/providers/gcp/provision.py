"""Renting: firewall rule, machine and disks, each looked up by its lease before it is made."""

import math
import time
from collections.abc import Callable
from functools import partial

from diskbench.errors import DiskbenchError, InvalidValue, RentalFailed
from diskbench.model.rental import Claim, DiskSpec, Which
from diskbench.providers.gcp import leases, requests
from diskbench.providers.gcp.client import Item, change, finish
from diskbench.providers.gcp.errors import exists_already, maintenance_needed, refused
from diskbench.providers.gcp.offer import maintenance
from diskbench.providers.gcp.requests import GcpOrder
from diskbench.providers.skeleton.cloud import unless_missing
from diskbench.providers.skeleton.leases import Listed
from diskbench.providers.skeleton.provision import Provisioned, in_first_with_capacity, zones_from
from diskbench.providers.waits import Still

RUN_STEP_S = 300.0
"""The run time is rounded up to this, so that a request repeated soon by another process is
identical. Our choice."""


def provision(order: GcpOrder) -> Provisioned:
    """The machine and disks of the lease, made or found; zones are tried in order.

    Raises NoCapacity when every zone lacks capacity, RentalFailed with Google's reason for a
    machine that ended.
    """
    compute, limit_s = order.compute, order.timing.firewall_s
    listing = leases.inventory(compute, Which(order.lease))
    if order.spec.security_group is None and not listing.of("firewall"):
        request = requests.insert_firewall(order)
        what = f"firewall {request['firewallResource']['name']}"
        unless_there(lambda: change(compute, "firewalls", "insert", request, what, limit_s))
    # From the zone on where the lease has a machine already, listed or not: in another one a
    # second machine would be made.
    held = [leases.scope_of(instance) for instance in leases.live_in(listing)[:1]] or [
        leases.scope_of(item)
        for item in leases.sent(compute, order.lease).values()
        if item["name"] == order.machine_name
    ]
    return in_first_with_capacity(
        zones_from(order.details.zones, held[-1] if held else None),
        lambda zone: in_zone(order, zone),
        lambda: _undo(order),
        order.watch,
        region=order.details.region,
    )


def unless_there(make: Callable[[], Item]) -> Item | None:
    """The answer of `make`; None when Google reports that the resource exists: an earlier call,
    whose answer was lost, made it."""
    return unless_missing(make, exists_already)


def in_zone(order: GcpOrder, zone: str) -> Provisioned:
    """Machine and disks of this turn in one zone, running and ready. Raises NoCapacity."""
    listing = leases.inventory(order.compute, Which(order.lease))
    machine, scope = f"instance {order.machine_name}", order.disk_scope(zone)
    here = [instance for instance in listing.of("instance") if leases.scope_of(instance) == zone]
    for instance in here:
        if instance.get("status") not in leases.LIVE:  # switched off, and not started again
            raise ended(instance)
    started = [] if here else [(machine, order.timing.instance_s, _launch(order, zone))]
    names = []
    for disk in [order.disk] if order.disk else []:
        for index in range(disk.count):
            names.append(order.disk_name(index))
            if f"disk {scope}/{names[-1]}" not in listing.meant:
                operation = _new_disk(order, disk, zone, index)
                started.append((f"disk {names[-1]}", order.timing.disk_s, operation))
    for what, limit_s, operation in started:
        if operation is not None:
            kind = what.partition(" ")[0]
            finish(order.compute, operation, f"compute.{kind}s.insert", what, limit_s)
    for name in names:
        shown(order, "disks", scope, name)
    shown(order, "instances", zone, order.machine_name)
    running = order.until(lambda: _running(order, zone), machine, order.timing.instance_s)
    disks = tuple(
        order.until(partial(_ready, order, scope, name), f"disk {name}", order.timing.disk_s)
        for name in names
    )
    return Provisioned(running, disks, zone)


def shown(order: GcpOrder, collection: str, scope: str, name: str) -> Item:
    """The state of a resource that was made, as soon as Google shows it: a read just after its
    creation may not know it yet. Raises RentalFailed."""

    def ask() -> Item | Still:
        resource = leases.describe(order.compute, collection, scope, name)
        return resource or Still("Google does not show it (yet)")

    kind = collection.removesuffix("s")
    return order.until(ask, f"{kind} {name}", order.timing.appear_s)


def _launch(order: GcpOrder, zone: str) -> Item | None:
    """The operation that makes the machine; None when it exists already. It is asked for again
    where Google names the other maintenance policy as the only one that the machine type takes."""
    machine, spec = order.details.machine, order.spec
    seconds = run_s(order.claim, time.time())
    policy = maintenance(machine, spot=spec.spot, placed=spec.placement is not None)

    def send(policy: str | None) -> Item | None:
        request = requests.insert_instance(order, zone, seconds, policy)
        return unless_there(lambda: order.compute.call("instances", "insert", request))

    try:
        started = send(policy)
    except InvalidValue as error:
        needed = maintenance_needed(error)
        if needed in {None, policy}:
            raise
        order.watch.note(f"{machine.type} is asked for with onHostMaintenance {needed}")
        started = send(needed)
    order.watch.note(f"{machine.type} is starting in {zone}")
    return started


def run_s(claim: Claim, now: float) -> float:
    """The maximum run time of a machine made at `now` (Unix seconds): until the lease's end."""
    return math.ceil(max(claim.expires_at - now, 0.0) / RUN_STEP_S) * RUN_STEP_S


def _new_disk(order: GcpOrder, disk: DiskSpec, zone: str, index: int) -> Item | None:
    """The operation that makes the disk number `index`; None when it exists already."""
    request = requests.insert_disk(order, zone, index)
    collection = "regionDisks" if "region" in request else "disks"
    started = unless_there(lambda: order.compute.call(collection, "insert", request))
    name = request["diskResource"]["name"]
    order.watch.note(f"disk {name} is being made: {disk.type}, {disk.size_gib} GiB")
    return started


def _running(order: GcpOrder, zone: str) -> Item | Still:
    instance = leases.describe(order.compute, "instances", zone, order.machine_name)
    if instance is None:
        raise refused("machine not listed in its zone", zone=zone, order=order)
    state = str(instance.get("status"))
    if state == "RUNNING":
        return instance
    if state in leases.STARTING:
        return Still(state.lower())
    raise ended(instance)


def _ready(order: GcpOrder, scope: str, name: str) -> Item | Still:
    disk = leases.describe(order.compute, "disks", scope, name)
    state = str(disk.get("status")) if disk else "not listed any more"
    if disk is not None and state == "READY":
        return disk
    if state == "CREATING":
        return Still("creating")
    raise refused("disk not ready", scope=scope, name=name, state=state.lower())


def ended(instance: Item) -> DiskbenchError:
    """The error for a machine that no longer runs, by Google's reason."""
    why = str(instance.get("statusMessage") or "Google gives no reason")
    return RentalFailed(
        f"instance {leases.place(instance)} is {str(instance.get('status')).lower()}: {why}",
        advice="another program ended it: start a new run",
    )


def _undo(order: GcpOrder) -> None:
    """Delete what was made in a zone without capacity; a failed deletion is left to the release."""
    compute, lease_id = order.compute, order.lease
    failures: dict[str, str] = {}
    for collection in ("instances", "disks"):
        there = leases.inventory(compute, Which(lease_id)).meant
        listing = Listed({**leases.sent(compute, lease_id), **there})
        leases.give_back(compute, lease_id, collection, listing, failures)
    for what, why in failures.items():
        order.watch.note(f"{what} is left for later: {why}")
