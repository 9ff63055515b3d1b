"""Renting: firewall rule, machine and disks, each looked up by its lease before it is made."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import partial

from diskbench.errors import DiskbenchError, InvalidValue, RentalFailed
from diskbench.model.rental import Claim, DiskSpec, Which
from diskbench.providers.cloud_init import user_data
from diskbench.providers.gcp import requests
from diskbench.providers.gcp.client import Compute, GceTiming, Item, change, finish
from diskbench.providers.gcp.disk_request import GcpResolved
from diskbench.providers.gcp.errors import exists_already, maintenance_needed
from diskbench.providers.gcp.inventory import (
    STARTING,
    GcpInventory,
    describe,
    inventory,
    place,
    scope_of,
    sent,
)
from diskbench.providers.gcp.machines import maintenance
from diskbench.providers.gcp.teardown import give_back
from diskbench.providers.scripts import script
from diskbench.providers.skeleton import provision as skeleton
from diskbench.providers.skeleton.provision import in_first_with_capacity, zones_from
from diskbench.providers.waits import Still

GUEST_GRACE_S = 900.0
"""The guest powers itself off this much later than Google deletes it: a machine that is only
switched off is not deleted, and its disks cost money. Our choice."""
RUN_STEP_S = 300.0
"""The run time is rounded up to this, so that a request repeated soon by another process is
identical. Our choice."""


@dataclass(frozen=True, kw_only=True)
class GcpOrder(skeleton.Order[GcpResolved, GceTiming]):
    """The Compute Engine resources to make; `compute` is the API in one project."""

    compute: Compute

    @property
    def bare_metal(self) -> bool:
        return self.details.machine.bare_metal

    @property
    def disk(self) -> DiskSpec | None:
        """The disks to make; None where the machine's local disks are measured."""
        requested = self.details.requested
        return requested.spec(self.details.size_gib) if requested.kind == "disk" else None

    @property
    def root(self) -> DiskSpec:
        """The root disk: as requested where it is measured, else as large as its image."""
        requested = self.details.requested
        if requested.kind == "root":
            return requested.spec(self.details.size_gib)
        return DiskSpec(type=self.details.boot_type or "any", size_gib=self.details.image.root_gib)

    def disk_name(self, index: int) -> str:
        """The name of the disk number `index` of this turn."""
        kind = requests.disk_kind(index, self.claim.turn)
        return requests.name_of(self.lease, kind)

    def device_name(self, index: int) -> str:
        """The device name of the disk."""
        return requests.device_name(index, self.claim.turn)

    def replicas(self, zone: str) -> tuple[str, ...]:
        """The two zones of the disks of a machine in `zone`; none where they are in one."""
        if self.disk is None or not requests.is_regional(self.disk.type):
            return ()
        return (zone, next(other for other in self.details.region_zones if other != zone))

    def disk_scope(self, zone: str) -> str:
        """The region or the zone that the disks of a machine in `zone` belong to."""
        return self.details.region if self.replicas(zone) else zone

    @property
    def machine_name(self) -> str:
        """The name of the lease's machine."""
        return requests.name_of(self.lease, "machine")


@dataclass(frozen=True)
class GcpProvisioned:
    """A running machine, and its disks in the same zone, in order."""

    instance: Item
    disks: tuple[Item, ...]
    zone: str


def provision(order: GcpOrder) -> GcpProvisioned:
    """The machine and disks of the lease, made or found; zones are tried in order.

    Raises NoCapacity when every zone lacks capacity, RentalFailed with Google's reason for a
    machine that ended.
    """
    listing = inventory(order.compute, Which(order.lease))
    _firewall(order, listing)
    return in_first_with_capacity(
        zones_from(order.details.zones, _held_zone(order, listing)),
        lambda zone: in_zone(order, zone),
        lambda: _undo(order),
        order.watch,
        region=order.details.region,
    )


def _held_zone(order: GcpOrder, listing: GcpInventory) -> str | None:
    """The zone in which the lease has a machine already, listed or not: in another one a second
    machine would be made."""
    if listing.live:
        return scope_of(listing.live[0])
    made = [
        resource
        for resource in sent(order.compute, order.lease)
        if resource.name == order.machine_name
    ]
    return made[-1].scope if made else None


def _firewall(order: GcpOrder, listing: GcpInventory) -> None:
    """Make or find the lease's firewall rule, unless a rule of the user admits SSH."""
    if order.spec.security_group is not None or listing.rules:
        return
    cidr = order.details.ssh_cidr
    assert cidr is not None, "resolve refuses a rental without a tag and without a network"
    request = requests.insert_firewall(order.claim, order.details.network.network, cidr)
    try:
        change(
            order.compute, "firewalls", "insert", request,
            f"firewall {request['firewallResource']['name']}", order.timing.firewall_s,
        )  # fmt: skip
    except DiskbenchError as error:
        if not exists_already(error):
            raise


def in_zone(order: GcpOrder, zone: str) -> GcpProvisioned:
    """Machine and disks of this turn in one zone, running and ready. Raises NoCapacity."""
    listing = inventory(order.compute, Which(order.lease))
    _refuse_dead(listing, zone)
    under_way = []
    if not any(scope_of(instance) == zone for instance in listing.live):
        under_way.append(_launch(order, zone))
    names = []
    for disk in [order.disk] if order.disk else []:
        for index in range(disk.count):
            names.append(order.disk_name(index))
            if listing.disk(names[-1], order.disk_scope(zone)) is None:
                under_way.append(_new_disk(order, disk, zone, index))
    for started in under_way:
        if started is not None:
            operation, what, limit_s = started
            kind = what.partition(" ")[0]
            finish(order.compute, operation, f"compute.{kind}s.insert", what, limit_s)
    for name in names:
        shown(order, "disks", order.disk_scope(zone), name)
    shown(order, "instances", zone, order.machine_name)
    running = order.until(
        lambda: _running(order, zone), f"instance {order.machine_name}", order.timing.instance_s
    )
    disks = tuple(
        order.until(
            partial(_ready, order, order.disk_scope(zone), name),
            f"disk {name}",
            order.timing.disk_s,
        )
        for name in names
    )
    return GcpProvisioned(running, disks, zone)


def shown(order: GcpOrder, collection: str, scope: str, name: str) -> Item:
    """The state of a resource that was made, as soon as Google shows it: a read just after its
    creation may not know it yet. Raises RentalFailed."""

    def ask() -> Item | Still:
        resource = describe(order.compute, collection, scope, name)
        return resource or Still("Google does not show it (yet)")

    kind = collection.removesuffix("s")
    return order.until(ask, f"{kind} {name}", order.timing.appear_s)


def _refuse_dead(listing: GcpInventory, zone: str) -> None:
    """Raise for a machine of the lease that was switched off: it is not started again."""
    for instance in listing.instances:
        if instance not in listing.live and scope_of(instance) == zone:
            raise ended(instance)


_Started = tuple[Item, str, float]


def _launch(order: GcpOrder, zone: str) -> _Started | None:
    """The operation that makes the machine; None when it exists already."""
    details, spec = order.details, order.spec
    guest = order.guest(
        details.image.user,
        ends_at=order.claim.expires_at + GUEST_GRACE_S,
        packages=("fio", "mdadm") if spec.stripe else ("fio",),
        first=script("gce_host_key.sh"),
    )
    requested = details.requested
    chosen = requested.kind == "local-ssd" and not details.machine.bundled_ssds
    launch = requests.GcpLaunch(
        project=details.project,
        zone=zone,
        machine_type=details.machine.type,
        image=details.image.link,
        boot=requests.boot_disk(details.boot_type, zone, order.root),
        network=_interface(order),
        tag=details.tag or requests.name_of(order.lease, "ssh"),
        run_s=run_s(order.claim, time.time()),
        user=details.image.user,
        user_key=order.keys.user_public,
        user_data=user_data(guest),
        local_ssds=requested.count if chosen else 0,
        local_interface=requested.interface or "nvme",
        spot=spec.spot,
        placement=spec.placement,
        maintenance=maintenance(details.machine, spot=spec.spot, placed=spec.placement is not None),
        shielded=shielded(details),
        lab=order.lab,
        kms_key=spec.kms_key,
    )
    started = _insert_machine(order, launch)
    order.watch.note(f"{details.machine.type} is starting in {zone}")
    what = f"instance {order.machine_name}"
    return None if started is None else (started, what, order.timing.instance_s)


def _insert_machine(order: GcpOrder, launch: requests.GcpLaunch) -> Item | None:
    """The operation that makes the machine; sent again where Google names the other maintenance
    policy as the only one that the machine type takes."""
    try:
        return _insert(order, "instances", requests.insert_instance(order.claim, launch))
    except InvalidValue as error:
        needed = maintenance_needed(error)
        if needed in {None, launch.maintenance}:
            raise
        order.watch.note(f"{launch.machine_type} is asked for with onHostMaintenance {needed}")
        again = requests.insert_instance(order.claim, replace(launch, maintenance=needed))
        return _insert(order, "instances", again)


def run_s(claim: Claim, now: float) -> float:
    """The maximum run time of a machine made at `now` (Unix seconds): until the lease's end."""
    return math.ceil(max(claim.expires_at - now, 0.0) / RUN_STEP_S) * RUN_STEP_S


def _interface(order: GcpOrder) -> requests.Request:
    """The machine's network interface, with a public address unless it is reached without."""
    network = order.details.network
    where: requests.Request = (
        {"subnetwork": network.subnetwork} if network.subnetwork else {"network": network.network}
    )
    if order.details.reach != "public":
        return where
    return {**where, "accessConfigs": [{"name": "External NAT", "type": "ONE_TO_ONE_NAT"}]}


def shielded(details: GcpResolved) -> bool:
    """Whether the machine is asked for as a Shielded VM, with Secure Boot: where its image can be
    one. Only x86-64 is: we found no reliable source about Secure Boot on Arm and bare metal."""
    machine = details.machine
    return details.image.uefi and machine.arch == "x86_64" and not machine.bare_metal


def _new_disk(order: GcpOrder, disk: DiskSpec, zone: str, index: int) -> _Started | None:
    """The operation that makes the disk number `index`; None when it exists already."""
    request = requests.insert_disk(
        order.claim,
        disk,
        order.details.project,
        order.disk_scope(zone),
        index,
        replicas=order.replicas(zone),
        kms_key=order.spec.kms_key,
        snapshot=order.details.snapshot,
    )
    started = _insert(order, "regionDisks" if "region" in request else "disks", request)
    name = request["diskResource"]["name"]
    order.watch.note(f"disk {name} is being made: {disk.type}, {disk.size_gib} GiB")
    return None if started is None else (started, f"disk {name}", order.timing.disk_s)


def _insert(order: GcpOrder, collection: str, request: requests.Request) -> Item | None:
    """Send an insertion; None when Google reports that the resource exists: an earlier call,
    whose answer was lost, made it."""
    try:
        return order.compute.call(collection, "insert", request)
    except DiskbenchError as error:
        if exists_already(error):
            return None
        raise


def _running(order: GcpOrder, zone: str) -> Item | Still:
    instance = describe(order.compute, "instances", zone, order.machine_name)
    if instance is None:
        raise RentalFailed(
            f"instance {zone}/{order.machine_name} is not listed any more",
            advice="another program deleted it: start a new run",
        )
    state = str(instance.get("status"))
    if state == "RUNNING":
        return instance
    if state in STARTING:
        return Still(state.lower())
    raise ended(instance)


def _ready(order: GcpOrder, scope: str, name: str) -> Item | Still:
    disk = describe(order.compute, "disks", scope, name)
    state = str(disk.get("status")) if disk else "not listed any more"
    if disk is not None and state == "READY":
        return disk
    if state == "CREATING":
        return Still("creating")
    raise RentalFailed(
        f"disk {scope}/{name} is {state.lower()} in place of ready", advice="start a new run"
    )


def ended(instance: Item) -> DiskbenchError:
    """The error for a machine that no longer runs, by Google's reason."""
    why = str(instance.get("statusMessage") or "Google gives no reason")
    return RentalFailed(
        f"instance {place(instance)} is {str(instance.get('status')).lower()}: {why}",
        advice="another program ended it: start a new run",
    )


def _undo(order: GcpOrder) -> None:
    """Delete what was made in a zone without capacity; a failed deletion is left to the release."""
    compute, lease_id = order.compute, order.lease
    failures: dict[str, str] = {}
    for collection in ("instances", "disks"):
        listing = inventory(compute, Which(lease_id)).also(sent(compute, lease_id))
        items = listing.instances if collection == "instances" else listing.disks
        give_back(compute, lease_id, collection, items, failures)
    for what, why in failures.items():
        order.watch.note(f"{what} is left for later: {why}")
