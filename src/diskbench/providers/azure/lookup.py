"""Resolve a rental by read-only calls: sizes and disks on sale, image (the newest Ubuntu, or the
one of `--image`), zones, network access."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from diskbench.catalog.books import ProviderBook
from diskbench.catalog.entry import catalogue
from diskbench.errors import AccessDenied, DiskbenchError, InvalidValue, UnknownName
from diskbench.model.options import RentSpec
from diskbench.providers.azure.client import API, AzureClient, region_of, resource_skus
from diskbench.providers.azure.disk_request import (
    DEFAULT_OS_GIB,
    AzureDiskRequest,
    AzureImage,
    AzureMachine,
    AzureResolved,
    Interface,
    check_cache,
)
from diskbench.providers.azure.errors import is_missing
from diskbench.providers.azure.machines import (
    Offer,
    candidates,
    check_support,
    offer,
    quota_left,
    shared,
    with_controller,
)
from diskbench.providers.azure.policy import check_registrations
from diskbench.providers.azure.requests import INSIDE
from diskbench.providers.networks import caller_cidr, ssh_cidr
from diskbench.providers.skeleton.offer import needs

_ZONAL = frozenset({"PremiumV2_LRS", "UltraSSD_LRS"})
"""Sold in zones, where a region has them (disks-types.md 2026-08-11)."""


@dataclass(frozen=True)
class AzureLookup:
    """The request, and where to resolve it."""

    edge: AzureClient
    spec: RentSpec
    requested: AzureDiskRequest
    known: ProviderBook
    region: str


def resolve_details(
    edge: AzureClient,
    spec: RentSpec,
    requested: AzureDiskRequest,
    known: ProviderBook,
    ask_caller: Callable[[], str] = caller_cidr,
) -> AzureResolved:
    """Everything that must be known before renting; the machine is chosen from `known`. Raises
    UserError."""
    region = region_of(spec)
    here = AzureLookup(edge, spec, requested, known, region)
    unswitched = check_registrations(here.edge)
    sold = _sold(here)
    if spec.zone is not None and spec.zone not in sold.all_zones():
        raise UnknownName(f"zone of {region}", spec.zone, sold.all_zones(), field="zone")
    typed = spec.instance_type
    machine = sold.machine(typed, known) if typed else None
    if machine is not None:
        check_support(machine, requested, tuple(sold.disks))
    _check_given(here)
    image = find_image(here.edge, region, spec.image, machine.arch if machine else "x86_64")
    left = _quota_left(here)
    machine = with_controller(machine or _smallest(here, sold, image, left), image)
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
            text
            for text in (
                unswitched,
                _other_promise(sold, requested, size_gib),
                _too_little_quota(machine, left, region),
            )
            if text
        ),
        ssh_cidr=_ssh_cidr(here, ask_caller),
        emulated=edge.azure.emulated_endpoint() is not None,
    )


def _ssh_cidr(here: AzureLookup, ask_caller: Callable[[], str]) -> str | None:
    """The network from which SSH is admitted. A machine without a public address is reached from
    inside its network: this machine's public address would admit nobody."""
    spec = here.spec
    if spec.subnet is not None and spec.security_group is None and spec.ssh_cidr is None:
        return INSIDE
    return ssh_cidr(spec, here.edge.azure.emulated_endpoint(), ask_caller)


def _sold(here: AzureLookup) -> Offer:
    sold = offer(here.region, resource_skus(here.edge, here.region))
    if not sold.machines:
        raise InvalidValue(
            f"Azure sells no machines in {here.region!r} to this subscription",
            advice="az account list-locations --query [].name lists the regions",
        )
    return sold


def _check_given(here: AzureLookup) -> None:
    """Refuse a key or a snapshot that is not there, is elsewhere, or is larger than the disk.
    Raises InvalidValue."""
    requested = here.requested
    for flag, field, resource_id in (
        ("--kms-key", "kms_key", requested.encryption_set),
        ("--from-snapshot", "from_snapshot", requested.snapshot),
    ):
        if resource_id is None:
            continue
        found = here.edge.find(resource_id)
        if found is None:
            raise InvalidValue(
                f"{flag} {resource_id} is not there", advice="give its id", field=field
            )
        location = str(found.get("location", "")).lower().replace(" ", "")
        if location != here.region:
            raise InvalidValue(
                f"{flag} {resource_id} is in {location}",
                advice=f"give one in {here.region}, or --region {location}",
                field=field,
            )
        held = (found.get("properties") or {}).get("diskSizeGB") or 0
        if requested.snapshot == resource_id and held > (requested.size_gib or 0):
            raise InvalidValue(
                f"{flag} {resource_id} holds {held} GiB",
                advice=f"add --size {held} or more",
                field="size",
            )


def _quota_left(here: AzureLookup) -> dict[str, float] | None:
    """The vCPUs that the subscription's quotas still give in the region, by family and `cores`;
    None where they may not be read."""
    try:
        where = f"Microsoft.Compute/locations/{here.region}/usages"
        listed = here.edge.listed(here.edge.path(kind=where))
    except AccessDenied:
        return None
    left = {
        str(usage["name"]["value"]).lower(): float(usage["limit"]) - float(usage["currentValue"])
        for usage in listed
    }
    # Spot machines count in one quota of their own.
    spot = left.get("lowprioritycores")
    return left if not here.spec.spot else {} if spot is None else {"cores": spot}


def _too_little_quota(
    machine: AzureMachine, left: Mapping[str, float] | None, region: str
) -> str | None:
    vcpus = quota_left(machine, left)
    if machine.vcpus <= vcpus:
        return None
    return (
        f"{machine.size} needs {machine.vcpus} vCPUs and the quotas of {region} have {vcpus:,.0f} "
        "left for it: raise them in the portal (Subscriptions > Usage + quotas), or give back what "
        "is not needed (diskbench gc)"
    )


def _smallest(
    here: AzureLookup, sold: Offer, image: AzureImage, left: Mapping[str, float] | None
) -> AzureMachine:
    """The best size that sustains the disk, is sold in the region and can boot the image."""
    requested = here.requested
    need = needs(requested.limits(requested.size_gib or DEFAULT_OS_GIB), requested.count)
    machines = [sold.machine(name, here.known) for name in sold.machines]
    bootable = [one for one in machines if not image.controllers or shared(one, image)]
    for machine in candidates(here.known, bootable, need, requested, left):
        if _has_zone(here, sold, machine.size):
            return machine
    raise InvalidValue(
        f"no machine that {here.region} sells to this subscription sustains {need.iops:,.0f} IOPS "
        f"and {need.mb_per_s:,.0f} MB/s to {requested.count} disks",
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
    if requested.kind == "local" or requested.bursting or requested.plus:
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


_KNOWN: dict[str, dict[str, str]] = API["images"]
_URN = re.compile(r"[^:/]+:[^:/]+:[^:/]+:[^:/]+")
_SUBSCRIPTION = r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute"
_OWN = re.compile(_SUBSCRIPTION + r"/images/[^/]+", re.IGNORECASE)
_GALLERY = re.compile(
    rf"(?P<image>{_SUBSCRIPTION}/galleries/[^/]+/images/[^/]+)(?P<version>/versions/[^/]+)?",
    re.IGNORECASE,
)
_SHARED = re.compile(r"/(CommunityGalleries|SharedGalleries)/.+", re.IGNORECASE)
_TERMS = (
    "Microsoft.MarketplaceOrdering/offerTypes/virtualmachine"
    "/publishers/{publisher}/offers/{product}/plans/{name}/agreements/current"
)


def find_image(edge: AzureClient, region: str, typed: str | None, arch: str) -> AzureImage:
    """The image of `--image`: `ubuntu`, `debian`, a URN, or the id of an image of yours. The
    newest version is named, so that a second attempt uses the same. Raises InvalidValue."""
    name = _KNOWN.get(typed or "ubuntu", {}).get(arch, typed or "")
    if _URN.fullmatch(name):
        return _of_marketplace(edge, region, name)
    try:
        if _OWN.fullmatch(name):
            return _own(edge, name)
        if gallery := _GALLERY.fullmatch(name):
            return _of_gallery(edge, name, gallery["image"], gallery["version"])
    except DiskbenchError as error:
        if is_missing(error):
            raise InvalidValue(
                f"there is no image {name}: {error.message}",
                advice="az image list, az sig image-version list",
                field="image",
            ) from error
        raise
    if _SHARED.fullmatch(name):
        # Shared images are described only in their region, and have no plan to accept.
        key = (
            "communityGalleryImageId"
            if "community" in name[:10].lower()
            else "sharedGalleryImageId"
        )
        return AzureImage(name=name.rpartition("/")[2], reference={key: name})
    raise InvalidValue(
        f"--image {typed!r} is not an image",
        advice=f"give {', '.join(_KNOWN)}, Publisher:Offer:Sku:Version or the id of an image",
        field="image",
    )


def _of_marketplace(edge: AzureClient, region: str, urn: str) -> AzureImage:
    publisher, offer, sku, version = urn.split(":")
    kind = f"Microsoft.Compute/locations/{region}/publishers/{publisher}/artifacttypes/vmimage"
    where = edge.path(kind=f"{kind}/offers/{offer}/skus/{sku}/versions")
    try:
        if version == "latest":
            versions = [str(item["name"]) for item in edge.listed(where)]
            if not versions:
                raise InvalidValue("it has no version")
            version = max(versions, key=_as_version)
        image = edge.get(f"{where}/{version}")
    except DiskbenchError as error:
        if is_missing(error) or isinstance(error, InvalidValue):
            raise InvalidValue(
                f"there is no image {urn} in {region}: {error.message}",
                advice="az vm image list --all lists those of a publisher",
            ) from error
        raise
    properties = image.get("properties") or {}
    name = f"{publisher}:{offer}:{sku}:{version}"
    plan = _plan(properties.get("plan"))
    if plan is not None:
        _check_terms(edge, name, plan)
    return AzureImage(
        name=name,
        reference={"publisher": publisher, "offer": offer, "sku": sku, "version": version},
        os_gib=_image_size_gib(properties.get("osDiskImage")),
        plan=plan,
        generation=properties.get("hyperVGeneration"),
        controllers=_controllers(properties),
    )


def _own(edge: AzureClient, image_id: str) -> AzureImage:
    image = edge.get(image_id)
    properties = image.get("properties") or {}
    disk = (properties.get("storageProfile") or {}).get("osDisk") or {}
    return AzureImage(
        name=image_id.rpartition("/")[2],
        reference={"id": image_id},
        os_gib=int(disk["diskSizeGB"]) if disk.get("diskSizeGB") else None,
        generation=properties.get("hyperVGeneration"),
    )


def _of_gallery(
    edge: AzureClient, image_id: str, definition_id: str, version: str | None
) -> AzureImage:
    """An image of a gallery: its definition has the plan and the disk controllers."""
    properties = edge.get(definition_id).get("properties") or {}
    os_gib = None
    if version:
        made = edge.get(image_id).get("properties") or {}
        storage = made.get("storageProfile") or {}
        os_gib = _image_size_gib(storage.get("osDiskImage"), "sizeInGB")
    plan = _plan(properties.get("purchasePlan"))
    if plan is not None:
        _check_terms(edge, image_id, plan)
    return AzureImage(
        name=image_id.rpartition("/")[2],
        reference={"id": image_id},
        os_gib=os_gib,
        plan=plan,
        generation=properties.get("hyperVGeneration"),
        controllers=_controllers(properties),
    )


def _check_terms(edge: AzureClient, name: str, plan: Mapping[str, str]) -> None:
    """Refuse an image whose terms nobody accepted in this subscription: Azure would refuse the
    machine (Marketplace, "Accept the terms of an image"). Raises InvalidValue."""
    agreement = edge.get(edge.path(kind=_TERMS.format(**plan)))
    if not (agreement.get("properties") or {}).get("accepted"):
        raise InvalidValue(
            f"the terms of image {name} are not accepted in this subscription",
            advice="read and accept them: az vm image terms accept --publisher "
            f"{plan['publisher']} --offer {plan['product']} --plan {plan['name']}; or choose "
            "another --image",
            field="image",
        )


def _plan(described: Mapping[str, str] | None) -> dict[str, str] | None:
    """The purchase plan as a machine names it: name, product and publisher."""
    if not described or not described.get("name"):
        return None
    return {key: str(described[key]) for key in ("name", "product", "publisher")}


def _controllers(properties: Mapping[str, object]) -> tuple[Interface, ...]:
    """The disk controllers that the image has drivers for; SCSI alone where it names none (Azure
    Virtual Machines, "NVMe FAQ": an image must be tagged for NVMe)."""
    features = cast("list[dict[str, str]]", properties.get("features") or [])
    value = next((str(f["value"]) for f in features if f.get("name") == "DiskControllerTypes"), "")
    words = {word.strip().lower() for word in value.split(",")}
    known: tuple[Interface, ...] = ("scsi", "nvme")
    return tuple(interface for interface in known if interface in words) or ("scsi",)


def _as_version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdecimal())


def _image_size_gib(disk: Mapping[str, object] | None, key: str = "sizeInGb") -> int | None:
    size = (disk or {}).get(key)
    return int(str(size)) if size else None
