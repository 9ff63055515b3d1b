"""Resolve a rental by read-only calls: sizes and disks on sale, image, zones, network access."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.catalog.limits.entry import catalogue
from diskbench.errors import InvalidValue, UnknownName
from diskbench.providers.azure.choice import candidates
from diskbench.providers.azure.client import region_of
from diskbench.providers.azure.controller import with_controller
from diskbench.providers.azure.disk_request import check_cache
from diskbench.providers.azure.images import find_image
from diskbench.providers.azure.registration import check_registrations
from diskbench.providers.azure.requests import INSIDE
from diskbench.providers.azure.resolved import DEFAULT_OS_GIB, AzureResolved
from diskbench.providers.azure.sizes import check_support, offer
from diskbench.providers.networks import caller_cidr, ssh_cidr
from diskbench.providers.skeleton.offer import needs

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.catalog.books import ProviderBook
    from diskbench.model.rental import RentSpec
    from diskbench.providers.azure.client import Azure, AzureClient
    from diskbench.providers.azure.disk_request import AzureDiskRequest
    from diskbench.providers.azure.resolved import AzureImage, AzureMachine
    from diskbench.providers.azure.sizes import Offer
    from diskbench.providers.azure.timing import AzureTiming

_SKUS = "Microsoft.Compute/skus/read"
_ZONAL = frozenset({"PremiumV2_LRS", "UltraSSD_LRS"})
"""Sold in zones, where a region has them (disks-types.md 2026-08-11)."""


@dataclass(frozen=True)
class AzureLookup:
    """The request, and where to resolve it."""

    azure: Azure
    edge: AzureClient
    spec: RentSpec
    requested: AzureDiskRequest
    known: ProviderBook
    region: str


def resolve_details(
    azure: Azure,
    spec: RentSpec,
    requested: AzureDiskRequest,
    known: ProviderBook,
    timing: AzureTiming,
    ask_caller: Callable[[], str] = caller_cidr,
) -> AzureResolved:
    """Everything that must be known before renting; the machine is chosen from `known`. Raises
    UserError."""
    region = region_of(spec)
    here = AzureLookup(azure, azure.edge(timing), spec, requested, known, region)
    unswitched = check_registrations(here.edge)
    sold = _sold(here)
    if spec.zone is not None and spec.zone not in sold.all_zones():
        raise UnknownName(f"zone of {region}", spec.zone, sold.all_zones(), field="zone")
    typed = spec.instance_type
    machine = sold.machine(typed, known) if typed else _cheapest(here, sold)
    check_support(machine, requested, tuple(sold.disks))
    image = find_image(here.edge, region, spec.image, machine.arch)
    machine = with_controller(machine, image)
    check_support(machine, requested, tuple(sold.disks))
    size_gib = _size_gib(requested, image, machine)
    return AzureResolved(
        region=region,
        requested=requested,
        size_gib=size_gib,
        machine=machine,
        image=image,
        os_type=_os_type(requested, machine),
        zones=_zones(here, sold, machine),
        subnet=spec.subnet,
        warnings=tuple(
            text for text in (unswitched, _other_promise(sold, requested, size_gib)) if text
        ),
        ssh_cidr=_ssh_cidr(here, ask_caller),
        emulated=azure.emulated_endpoint() is not None,
    )


def _ssh_cidr(here: AzureLookup, ask_caller: Callable[[], str]) -> str | None:
    """The network from which SSH is admitted. A machine without a public address is reached from
    inside its network: this machine's public address would admit nobody."""
    spec = here.spec
    if spec.subnet is not None and spec.security_group is None and spec.ssh_cidr is None:
        return INSIDE
    return ssh_cidr(spec, here.azure.emulated_endpoint(), ask_caller)


def _sold(here: AzureLookup) -> Offer:
    listed = here.edge.listed(
        _SKUS, "compute", "resource_skus.list", filter=f"location eq '{here.region}'"
    )
    sold = offer(here.region, listed)
    if not sold.machines:
        raise InvalidValue(
            f"Azure sells no machines in {here.region!r} to this subscription",
            advice="az account list-locations --query [].name lists the regions",
        )
    return sold


def _cheapest(here: AzureLookup, sold: Offer) -> AzureMachine:
    """The cheapest size of the catalogue that sustains the disk and is sold in the region."""
    requested = here.requested
    need = needs(requested.limits(requested.size_gib or DEFAULT_OS_GIB), requested.count)
    names = candidates(here.known, need, requested)
    for name in names:
        if name in sold.machines and _has_zone(here, sold, name):
            machine = sold.machine(name, here.known)
            if requested.caching in {None, "None"} or machine.cacheable:
                return machine
    if names:
        raise InvalidValue(
            f"{here.region} does not sell {', '.join(names[:5])}",
            advice="choose one with --instance-type, or another --region",
        )
    raise InvalidValue(
        f"no machine in the catalogue sustains {need.iops:,.0f} IOPS and {need.mb_per_s:,.0f} MB/s "
        f"to {requested.count} disks",
        advice="choose one with --instance-type: its limit is measured then",
    )


def _has_zone(here: AzureLookup, sold: Offer, name: str) -> bool:
    zones = sold.zones(name, here.requested.type)
    if here.spec.zone is not None:
        return here.spec.zone in zones
    return bool(zones) or here.requested.type not in _ZONAL or not sold.zones(name, None)


def _size_gib(requested: AzureDiskRequest, image: AzureImage, machine: AzureMachine) -> int:
    """The size of the disk; for an OS disk the image's size unless one is given."""
    if requested.kind == "local":
        return max(1, int(machine.local_gib))
    image_gib = image.os_gib or DEFAULT_OS_GIB
    size = requested.size_gib or image_gib
    if requested.kind == "root" and size < image_gib:
        raise InvalidValue(
            f"an OS disk of {size} GiB is smaller than its image",
            advice=f"{image.name} needs {image_gib} GiB or more",
        )
    requested.limits(size)
    check_cache(requested, size)
    return size


def _other_promise(sold: Offer, requested: AzureDiskRequest, size_gib: int) -> str | None:
    """The warning where Azure lists other figures of a disk's tier today than the catalogue;
    None where both agree, or the list has none."""
    if requested.kind == "local" or requested.bursting:
        return None
    rows = catalogue("azure").disks[requested.type].tiers
    row = rows and next((tier_row for tier_row in rows.rows if size_gib <= tier_row.gib), None)
    if not row:
        return None
    name = requested.tier or row.name
    row = next(tier_row for tier_row in rows.rows if tier_row.name == name) if rows else row
    today = sold.promised(requested.type, name)
    if today.iops in {None, row.iops} and today.mb_per_s in {None, row.throughput}:
        return None
    return (
        f"Azure lists {requested.type} {name} with {today.iops or 0:,.0f} IOPS and "
        f"{today.mb_per_s or 0:,.0f} MB/s today, the catalogue with {row.iops:,.0f} and "
        f"{row.throughput:,.0f}: results are compared with the catalogue"
    )


def _os_type(requested: AzureDiskRequest, machine: AzureMachine) -> str:
    if requested.kind == "root":
        return requested.type
    return "Premium_LRS" if machine.premium else "StandardSSD_LRS"


def _zones(here: AzureLookup, sold: Offer, machine: AzureMachine) -> tuple[str, ...]:
    """The zones to try, in order: machine and disk in one zone, so that the network between
    zones is not measured."""
    disk_type = here.requested.type if here.requested.kind != "local" else None
    zones = sold.zones(machine.size, disk_type)
    typed = here.spec.zone
    if typed is not None:
        if typed not in zones:
            what = f"zone of {here.region} that has {machine.size} with {here.requested.type}"
            raise UnknownName(what, typed, zones, field="zone")
        return (typed,)
    if not zones and here.requested.type in _ZONAL and sold.zones(machine.size, None):
        raise InvalidValue(
            f"no zone of {here.region} has {machine.size} with {here.requested.type}",
            advice="choose another --instance-type or --region",
        )
    return zones
