"""Renting: group, network, machine and disks, each looked up by its name, awaited while in
progress, else made."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from diskbench.errors import (
    AccessDenied,
    Busy,
    DiskbenchError,
    Interrupted,
    NotListedYet,
    RentalFailed,
)
from diskbench.providers.azure import requests
from diskbench.providers.azure.client import AzureClient, AzureTiming, Item
from diskbench.providers.azure.disk_request import ZONE_REDUNDANT, AzureResolved
from diskbench.providers.azure.inventory import (
    DISKS,
    GROUPS,
    MACHINES,
    SNAPSHOTS,
    STOPPED,
    power_of,
    read,
    read_disk,
    read_machine,
    state_of,
    why,
)
from diskbench.providers.azure.requests import (
    AzureLaunch,
    NewDisk,
    Request,
    disk_kind,
    group_name,
    name_of,
)
from diskbench.providers.cloud_init import user_data
from diskbench.providers.scripts import script
from diskbench.providers.skeleton import provision as skeleton
from diskbench.providers.skeleton.provision import in_first_with_capacity, zones_from
from diskbench.providers.waits import Still, nap, until

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class AzureOrder(skeleton.Order[AzureResolved, AzureTiming]):
    """The Azure resources to make; `edge` calls the services of one subscription."""

    edge: AzureClient

    @property
    def group(self) -> str:
        """The name of the lease's resource group."""
        return group_name(self.lease)

    def disk_name(self, index: int) -> str:
        """The name of the disk number `index` of this turn."""
        return name_of(self.lease, disk_kind(index, self.claim.turn))


@dataclass(frozen=True)
class AzureProvisioned:
    """A running machine, and its disks in the same zone, in order."""

    machine: Item
    disks: tuple[Item, ...]
    zone: str | None


def provision(order: AzureOrder) -> AzureProvisioned:
    """The machine and disks of the lease, made or found; zones are tried in order.

    Raises NoCapacity when every zone lacks capacity, RentalFailed with Azure's reason for what
    failed.
    """
    _group(order)
    zones: tuple[str | None, ...] = order.details.zones or (None,)
    held_zone = next(iter((read_machine(order.edge, order.lease) or {}).get("zones") or []), None)
    region = order.details.region
    return in_first_with_capacity(
        zones_from(zones, held_zone),
        lambda zone: _in_zone(order, zone),
        lambda: _undo(order),
        order.watch,
        region=region,
        name=lambda zone: f"zone {zone}" if zone else region,
    )


def _group(order: AzureOrder) -> None:
    request = requests.resource_group(order.claim, order.details.region)
    order.edge.call(
        f"{GROUPS}/write", "resources", "resource_groups.create_or_update", order.group, request
    )

    def listed() -> Item | Still:
        group = read(order.edge, f"{GROUPS}/read", "resources", "resource_groups.get", order.group)
        return group or Still("made, not listed yet")

    # A group that Azure does not list yet would be missed by a release.
    order.until(listed, f"resource-group {order.group}", order.timing.network_s)
    order.watch.note(f"created resource group {order.group}")


def _interface(order: AzureOrder) -> str:
    """The id of the machine's interface, in the lease's own network or in the given subnet."""
    details, claim, region = order.details, order.claim, order.details.region
    resource = _of_network(order, "network_interfaces", "networkInterfaces", "interface")
    existing = resource.read(order.edge)
    if existing is not None and state_of(existing) == "Succeeded":
        return str(existing["id"])
    group = order.spec.security_group or _security_group(order)
    subnet, address = details.subnet, None
    if subnet is None:
        network = _put_network(
            order, "virtual_networks", "virtualNetworks", "network",
            requests.virtual_network(claim, region),
        )  # fmt: skip
        subnet = str(network["properties"]["subnets"][0]["id"])
        made = _put_network(
            order, "public_ip_addresses", "publicIPAddresses", "address",
            requests.public_address(claim, region),
        )  # fmt: skip
        address = str(made["id"])
    request = requests.interface(claim, region, subnet=subnet, group=group, address=address)
    made = put(order.edge, resource, lambda: request, order.timing.network_s)
    return str(made["id"])


def _security_group(order: AzureOrder) -> str:
    """The id of the lease's own group, open to one network."""
    cidr = order.details.ssh_cidr
    assert cidr is not None, "resolve refuses a rental without a group and without a network"
    request = requests.security_group(order.claim, order.details.region, cidr)
    made = _put_network(order, "network_security_groups", "networkSecurityGroups", "group", request)
    return str(made["id"])


def _put_network(
    order: AzureOrder, group: str, kind: str, role: str, request: requests.Request
) -> Item:
    resource = _of_network(order, group, kind, role)
    return put(order.edge, resource, lambda: request, order.timing.network_s)


def _of_network(order: AzureOrder, methods: str, kind: str, role: str) -> AzureResource:
    name = name_of(order.lease, role)
    return AzureResource(role, f"Microsoft.Network/{kind}", "network", methods, order.group, name)


def _in_zone(order: AzureOrder, zone: str | None) -> AzureProvisioned:
    """Machine and disks in one zone. Raises NoCapacity."""
    requested = order.details.requested
    # An interface is deleted with its machine: the next zone may need a new one.
    _machine(order, _interface(order), zone)
    disks = disks_of_turn(order, zone) if requested.kind == "disk" else ()
    return AzureProvisioned(running(order), disks, zone)


def disks_of_turn(order: AzureOrder, zone: str | None) -> tuple[Item, ...]:
    """The disks of this turn on the machine, made or found."""
    return tuple(_disk(order, index, zone) for index in range(order.details.requested.count))


def _machine(order: AzureOrder, interface: str, zone: str | None) -> None:
    """Make the machine, or wait for the one in progress."""
    name = name_of(order.lease, "machine")

    def request() -> requests.Request:
        size = order.details.machine.size
        in_zone = f" in zone {zone}" if zone else ""
        order.watch.note(f"machine {name} is being made: {size}{in_zone}")
        return requests.virtual_machine(order.claim, launch(order, interface, zone))

    resource = AzureResource("machine", MACHINES, "compute", "virtual_machines", order.group, name)
    put(order.edge, resource, request, order.timing.machine_s)


def launch(order: AzureOrder, interface: str, zone: str | None) -> AzureLaunch:
    """The machine to make in one zone, with the interface of that id."""
    details, spec, requested = order.details, order.spec, order.details.requested
    guest = order.guest(requests.USER, first=script("azure_host_key.sh"))
    root = requested.kind == "root"
    return AzureLaunch(
        region=details.region,
        size=details.machine.size,
        zone=zone,
        image=details.image.reference,
        interface=interface,
        public_key=order.keys.user_public,
        user_data=user_data(guest),
        os_disk=requested.spec(details.size_gib) if root else None,
        os_type=details.os_type,
        # Azure's default for disks that are not measured.
        os_caching=(requested.caching or "None") if root else "ReadWrite",
        ultra=requested.type == "UltraSSD_LRS",
        spot=spec.spot,
        placement=spec.placement,
        lab=order.lab,
        controller=details.machine.controller,
        plan=details.image.plan,
        encryption_set=requested.encryption_set,
    )


def _disk(order: AzureOrder, index: int, zone: str | None) -> Item:
    """The disk number `index`, made or found."""
    name = order.disk_name(index)
    resource = AzureResource("disk", DISKS, "compute", "disks", order.group, name)
    request = requests.disk(order.claim, new_disk(order, zone))
    made = put(order.edge, resource, lambda: request, order.timing.disk_s)
    size_gib = order.details.size_gib
    order.watch.note(f"disk {name} is there: {order.details.requested.type}, {size_gib} GiB")
    return made


def new_disk(order: AzureOrder, zone: str | None) -> NewDisk:
    """A disk to make in one zone."""
    requested, details = order.details.requested, order.details
    return NewDisk(
        region=details.region,
        zone=None if requested.type in ZONE_REDUNDANT else zone,
        spec=requested.spec(details.size_gib),
        tier=requested.tier,
        bursting=requested.bursting,
        lab=order.lab,
        encryption_set=requested.encryption_set,
        snapshot=requested.snapshot,
        plus=requested.plus,
    )


def snapshot(order: AzureOrder, fill: Callable[[], None]) -> str:
    """The id of the lease's snapshot of its first disk, made or found, complete. It is in the
    lease's group, and goes with it. Raises RentalFailed."""
    name, edge = name_of(order.lease, "snapshot"), order.edge
    resource = AzureResource("snapshot", SNAPSHOTS, "compute", "snapshots", order.group, name)
    if resource.read(edge) is None:
        fill()
    source = read_disk(edge, order.lease, order.disk_name(0))
    what = f"snapshot {name}"

    def request() -> requests.Request:
        if source is None:
            raise RentalFailed("the filled disk is gone", advice="start a new run")
        return requests.snapshot(order.claim, order.details.region, str(source["id"]))

    made = put(edge, resource, request, order.timing.snapshot_s)

    def ask() -> bool | Still:
        found = resource.read(edge) or {}
        percent = (found.get("properties") or {}).get("completionPercent")
        # A disk of Premium SSD v2 can be made of a complete one only.
        return True if percent in {None, 100} else Still(f"{percent:g}% copied")

    order.until(ask, what, order.timing.snapshot_s)
    return str(made["id"])


def running(order: AzureOrder) -> Item:
    """Wait until the machine is made and runs. Raises RentalFailed."""
    name = name_of(order.lease, "machine")

    def ask() -> Item | Still:
        machine = alive(order)
        if machine is None:
            raise RentalFailed(
                f"machine {name} is not listed any more", advice="another program deleted it"
            )
        if state_of(machine) in {"Creating", "Updating"}:
            return Still(state_of(machine))
        power = power_of(machine)
        return Still(f"{power}") if power in {"starting", "unknown"} else machine

    return order.until(ask, f"machine {name}", order.timing.machine_s)


def alive(order: AzureOrder) -> Item | None:
    """The machine if it is still usable. Raises with Azure's reason when it has ended."""
    machine = read_machine(order.edge, order.lease)
    if machine is None:
        return None
    if state_of(machine) in {"Failed", "Deleting"} or power_of(machine) in STOPPED:
        raise ended(machine)
    return machine


def ended(machine: Item) -> RentalFailed:
    """The error for a machine that ended."""
    state = power_of(machine) if state_of(machine) == "Succeeded" else state_of(machine)
    return RentalFailed(
        f"machine {machine.get('name')} is {str(state).lower()}: {why(machine)}",
        advice="another program ended it: start a new run",
    )


def _undo(order: AzureOrder) -> None:
    """Delete what was made in a zone without capacity, and wait until it is gone: resources of the
    next zone have the same names. A failed deletion is left to the release; raises AccessDenied,
    which the next zone would raise as well."""
    with _leaving_failures():
        # A machine that was refused at once was never there: its interface serves the next zone.
        if read_machine(order.edge, order.lease) is not None:
            delete(order.edge, MACHINES, order.group, name_of(order.lease, "machine"))
            interface = _of_network(order, "network_interfaces", "networkInterfaces", "interface")
            await_gone(order.edge, interface, order.timing.network_s)
    for role in ("os", *(disk_kind(n) for n in range(order.details.requested.count))):
        disk = name_of(order.lease, role)
        with _leaving_failures():
            if read_disk(order.edge, order.lease, disk) is not None:
                delete(order.edge, DISKS, order.group, disk)


@contextlib.contextmanager
def _leaving_failures() -> Iterator[None]:
    try:
        yield
    except (AccessDenied, Interrupted):
        raise
    except DiskbenchError as error:
        log.warning("not deleted yet: %s", error.message)


_UNDER_WAY = frozenset({"Creating", "Updating", "Deleting"})


@dataclass(frozen=True)
class AzureResource:
    """The address of a resource: `role` is its name in messages, `right` its type, `methods` the
    SDK's attribute with its operations."""

    role: str
    right: str
    service: str
    methods: str
    group: str
    name: str

    def read(self, edge: AzureClient) -> Item | None:
        """The resource as Azure describes it; None where it does not exist."""
        return read(
            edge, f"{self.right}/read", self.service, f"{self.methods}.get", self.group, self.name
        )


def put(
    edge: AzureClient, resource: AzureResource, request: Callable[[], Request], limit_s: float
) -> Item:
    """The existing resource, or the one made by `request`. Raises diskbench's errors,
    RentalFailed when it takes longer than `limit_s`."""

    made = False

    def ask() -> Item | Still:
        nonlocal made
        existing = resource.read(edge)
        if existing is not None and state_of(existing) in _UNDER_WAY:
            return Still(state_of(existing))
        if existing is not None and state_of(existing) != "Failed":
            return existing
        if existing is None and made:
            return Still("made, not listed yet")
        try:
            return edge.finished(
                f"{resource.role} {resource.name}", limit_s, f"{resource.right}/write",
                resource.service, f"{resource.methods}.begin_create_or_update",
                resource.group, resource.name, request(), insist=False,
            )  # fmt: skip
        except NotListedYet:
            made = True
            return Still("made, not listed yet")
        except Busy as busy:
            nap(min(busy.retry_after_s, limit_s), edge.timing, edge.watch)
            return Still("under way already")

    return until(ask, f"{resource.role} {resource.name}", limit_s, edge.timing, edge.watch)


def delete(edge: AzureClient, kind: str, group: str, name: str, **more: bool) -> None:
    """Delete a machine or a disk (`kind` is MACHINES or DISKS), and wait until Azure does not list
    it any more: what has the same name next must not be taken for it. Raises diskbench's errors."""
    role, methods, limit_s = {
        MACHINES: ("machine", "virtual_machines", edge.timing.machine_s),
        DISKS: ("disk", "disks", edge.timing.disk_s),
    }[kind]
    edge.finished(
        f"{role} {name}", limit_s, f"{kind}/delete",
        "compute", f"{methods}.begin_delete", group, name, **more,
    )  # fmt: skip
    await_gone(edge, AzureResource(role, kind, "compute", methods, group, name), limit_s)


def await_gone(edge: AzureClient, resource: AzureResource, limit_s: float) -> None:
    """Wait until Azure does not list a deleted resource any more. Raises RentalFailed."""

    def ask() -> bool | Still:
        return True if resource.read(edge) is None else Still("deleted, still listed")

    until(ask, f"{resource.role} {resource.name}", limit_s, edge.timing, edge.watch)
