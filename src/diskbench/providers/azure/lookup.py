"""Resolve a rental by read-only calls: sizes and disks on sale, image (the newest Ubuntu, or the
one of `--image`), zones, network access."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from diskbench.catalog.books import ProviderBook
from diskbench.catalog.shipped import catalogue
from diskbench.errors import AccessDenied, DiskbenchError, InvalidValue, UnknownName, check_known
from diskbench.model.options import RentSpec
from diskbench.providers.azure import disk_request, machines
from diskbench.providers.azure.client import API, AzureClient, Item, region_of, resource_skus
from diskbench.providers.azure.disk_request import (
    AzureImage,
    AzureMachine,
    AzureResolved,
    Interface,
)
from diskbench.providers.azure.doctor import check_registrations
from diskbench.providers.azure.errors import is_missing, refused
from diskbench.providers.azure.requests import INSIDE
from diskbench.providers.networks import ssh_cidr
from diskbench.providers.skeleton.offer import checked_size, needs
from diskbench.providers.skeleton.shipped import at


@dataclass(frozen=True)
class AzureLookup:
    """The request, and where to resolve it; the machine is chosen from `known`."""

    edge: AzureClient
    spec: RentSpec
    requested: disk_request.AzureDiskRequest
    known: ProviderBook
    ask_caller: Callable[[], str]

    @cached_property
    def region(self) -> str:
        return region_of(self.spec)

    @cached_property
    def sold(self) -> machines.Offer:
        sold = machines.offer(self.region, resource_skus(self.edge, self.region))
        if not sold.machines:
            raise refused("nothing sold in the region", region=self.region)
        return sold

    def resolved(self) -> AzureResolved:
        """Everything that must be known before renting. Raises UserError."""
        spec, requested, region = self.spec, self.requested, self.region
        unswitched = check_registrations(self.edge)
        sold = self.sold
        check_known(f"zone of {region}", spec.zone, sold.all_zones(), field="zone")
        typed = spec.instance_type
        machine = sold.machine(typed, self.known) if typed else None
        if machine is not None:
            machines.check_support(machine, requested, tuple(sold.disks))
        self._check_given()
        image = find_image(self.edge, region, spec.image, machine.arch if machine else "x86_64")
        left = self._quota_left()
        machine = machines.with_controller(machine or self._smallest(image, left), image)
        machines.check_support(machine, requested, tuple(sold.disks))
        size_gib = self._size_gib(image, machine)
        promise = self._other_promise(size_gib)
        short = _too_little_quota(machine, left, region)
        measured_root = requested.type if requested.kind == "root" else None
        return AzureResolved(
            region=region,
            requested=requested,
            size_gib=size_gib,
            machine=machine,
            image=image,
            os_type=measured_root or ("Premium_LRS" if machine.premium else "StandardSSD_LRS"),
            zones=self._zones_of(machine),
            subnet=spec.subnet,
            warnings=tuple(text for text in (unswitched, promise, short) if text),
            ssh_cidr=self._ssh_cidr(),
            emulated=self.edge.azure.emulated_endpoint() is not None,
        )

    def _ssh_cidr(self) -> str | None:
        """The network from which SSH is admitted. A machine without a public address is reached
        from inside its network: this machine's public address would admit nobody."""
        spec = self.spec
        if spec.subnet is not None and spec.security_group is None and spec.ssh_cidr is None:
            return INSIDE
        return ssh_cidr(spec, self.edge.azure.emulated_endpoint(), self.ask_caller)

    def _check_given(self) -> None:
        """Refuse a key or a snapshot that is not there, is elsewhere, or is larger than the disk.
        Raises InvalidValue."""
        requested = self.requested
        for flag, field, resource_id in (
            ("--kms-key", "kms_key", requested.encryption_set),
            ("--from-snapshot", "from_snapshot", requested.snapshot),
        ):
            if resource_id is None:
                continue
            what, found = f"{flag} {resource_id}", self.edge.find(resource_id)
            if found is None:
                raise InvalidValue(f"{what} does not exist", advice="give its id", field=field)
            location = str(found.get("location", "")).lower().replace(" ", "")
            if location != self.region:
                raise InvalidValue(
                    f"{what} is in {location}",
                    advice=f"give one in {self.region}, or --region {location}",
                    field=field,
                )
            held = at(found, "properties.diskSizeGB") or 0
            if requested.snapshot == resource_id and held > (requested.size_gib or 0):
                raise refused("snapshot larger than the disk", what=what, held=held)

    def _quota_left(self) -> dict[str, float] | None:
        """The vCPUs that the subscription's quotas still give in the region, by family and
        `cores`; None where they may not be read."""
        where = f"Microsoft.Compute/locations/{self.region}/usages"
        try:
            listed = self.edge.listed(self.edge.path(kind=where))
        except AccessDenied:
            return None
        left = {
            str(one["name"]["value"]).lower(): float(one["limit"]) - float(one["currentValue"])
            for one in listed
        }
        # Spot machines count in one quota of their own.
        spot = left.get("lowprioritycores")
        return left if not self.spec.spot else {} if spot is None else {"cores": spot}

    def _smallest(self, image: AzureImage, left: Mapping[str, float] | None) -> AzureMachine:
        """The best size that sustains the disk, is sold in the region and can boot the image."""
        requested, sold = self.requested, self.sold
        need = needs(
            requested.limits(requested.size_gib or disk_request.DEFAULT_OS_GIB), requested.count
        )
        sizes = [sold.machine(name, self.known) for name in sold.machines]
        bootable = [one for one in sizes if not image.controllers or machines.shared(one, image)]
        for machine in machines.candidates(self.known, bootable, need, requested, left):
            if self._zones(machine) is not None:
                return machine
        raise refused("no machine for the disk", region=self.region, need=need, requested=requested)

    def _size_gib(self, image: AzureImage, machine: AzureMachine) -> int:
        """The size of the disk; for an OS disk the image's size unless one is given."""
        requested = self.requested
        if requested.kind == "local":
            return max(1, int(machine.local_gib))
        image_gib = image.os_gib or disk_request.DEFAULT_OS_GIB
        size = checked_size(requested, image.name, image_gib, "an OS disk")
        disk_request.checked(requested, size)
        return size

    def _other_promise(self, size_gib: int) -> str | None:
        """The warning where Azure lists other figures of a disk's tier today than the catalogue;
        None where both agree, or the list has none."""
        requested = self.requested
        if requested.kind == "local" or requested.bursting or requested.plus:
            return None
        tiers = catalogue("azure").disks[requested.type].tiers
        rows = tiers.rows if tiers else ()
        row = next((tier_row for tier_row in rows if size_gib <= tier_row.gib), None)
        if row is None:
            return None
        if requested.tier:
            row = next(tier_row for tier_row in rows if tier_row.name == requested.tier)
        today = self.sold.promised(requested.type, row.name)
        if today.iops in {None, row.iops} and today.mb_per_s in {None, row.throughput}:
            return None
        return (
            f"Azure lists {requested.type} {row.name} with {today.iops or 0:,.0f} IOPS and "
            f"{today.mb_per_s or 0:,.0f} MB/s today, the catalogue with {row.iops:,.0f} and "
            f"{row.throughput:,.0f}: results are compared with the catalogue"
        )

    def _zones(self, machine: AzureMachine) -> tuple[str, ...] | None:
        """The zones to try, in order: machine and disk in one zone, so that the network between
        zones is not measured. None where no zone that is asked for or needed has both."""
        requested, zone = self.requested, self.spec.zone
        zones = self.sold.zones(machine.size, requested.type)
        if zone is not None:
            return (zone,) if zone in zones else None
        is_zonal = requested.type in disk_request.DATA_ONLY and bool(
            self.sold.zones(machine.size, None)
        )
        return None if is_zonal and not zones else zones

    def _zones_of(self, machine: AzureMachine) -> tuple[str, ...]:
        """As `_zones`. Raises InvalidValue where there are none."""
        zones, zone = self._zones(machine), self.spec.zone
        if zones is not None:
            return zones
        what = f"zone of {self.region}", f"has {machine.size} with {self.requested.type}"
        if zone is not None:
            both = self.sold.zones(machine.size, self.requested.type)
            raise UnknownName(" that ".join(what), zone, both, field="zone")
        raise refused("no such machines", what=" ".join(what))


def _too_little_quota(
    machine: AzureMachine, left: Mapping[str, float] | None, region: str
) -> str | None:
    vcpus = machines.quota_left(machine, left)
    if machine.vcpus <= vcpus:
        return None
    return (
        f"{machine.size} needs {machine.vcpus} vCPUs and the quotas of {region} have {vcpus:,.0f} "
        "left for it: raise them in the portal (Subscriptions > Usage + quotas), or give back what "
        "is not needed (diskbench gc)"
    )


_KNOWN: dict[str, dict[str, str]] = API["images"]
_URN = re.compile(r"[^:/]+:[^:/]+:[^:/]+:[^:/]+")
_SUBSCRIPTION = r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute"
_OWN = re.compile(_SUBSCRIPTION + r"/images/[^/]+", re.IGNORECASE)
_GALLERY = re.compile(
    rf"(?P<image>{_SUBSCRIPTION}/galleries/[^/]+/images/[^/]+)(?P<version>/versions/[^/]+)?",
    re.IGNORECASE,
)
_SHARED = re.compile(r"/(?P<kind>Community|Shared)Galleries/.+", re.IGNORECASE)
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
    if shared := _SHARED.fullmatch(name):
        # Shared images are described only in their region, and have no plan to accept.
        reference = {f"{shared['kind'].lower()}GalleryImageId": name}
        return AzureImage(name=name.rpartition("/")[2], reference=reference)
    gallery = _GALLERY.fullmatch(name)
    if not gallery and not _OWN.fullmatch(name):
        raise refused("no form of an image", typed=typed, known=", ".join(_KNOWN))
    try:
        if gallery:
            return _of_gallery(edge, name, gallery["image"], gallery["version"])
        image = edge.get(name)
    except DiskbenchError as error:
        if is_missing(error):
            raise refused("no such image", name=name, error=error) from error
        raise
    return AzureImage(
        name=name.rpartition("/")[2],
        reference={"id": name},
        os_gib=at(image, "properties.storageProfile.osDisk.diskSizeGB") or None,
        generation=at(image, "properties.hyperVGeneration"),
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
            version = max(versions, key=lambda text: [int(n) for n in re.findall(r"\d+", text)])
        image = edge.get(f"{where}/{version}")
    except DiskbenchError as error:
        if is_missing(error) or isinstance(error, InvalidValue):
            raise refused(
                "no such image in the region", urn=urn, region=region, error=error
            ) from error
        raise
    name = f"{publisher}:{offer}:{sku}:{version}"
    return AzureImage(
        name=name,
        reference={"publisher": publisher, "offer": offer, "sku": sku, "version": version},
        os_gib=at(image, "properties.osDiskImage.sizeInGb") or None,
        plan=_accepted_plan(edge, name, at(image, "properties.plan")),
        generation=at(image, "properties.hyperVGeneration"),
        controllers=_controllers(image),
    )


def _of_gallery(
    edge: AzureClient, image_id: str, definition_id: str, version: str | None
) -> AzureImage:
    """An image of a gallery: its definition has the plan and the disk controllers."""
    definition = edge.get(definition_id)
    made = edge.get(image_id) if version else {}
    return AzureImage(
        name=image_id.rpartition("/")[2],
        reference={"id": image_id},
        os_gib=at(made, "properties.storageProfile.osDiskImage.sizeInGB") or None,
        plan=_accepted_plan(edge, image_id, at(definition, "properties.purchasePlan")),
        generation=at(definition, "properties.hyperVGeneration"),
        controllers=_controllers(definition),
    )


def _accepted_plan(
    edge: AzureClient, image: str, described: Mapping[str, str] | None
) -> dict[str, str] | None:
    """The purchase plan as a machine names it: name, product and publisher. An image whose terms
    nobody accepted in this subscription is refused: Azure would refuse the machine (Marketplace,
    "Accept the terms of an image"). Raises InvalidValue."""
    if not described or not described.get("name"):
        return None
    plan = {key: str(described[key]) for key in ("name", "product", "publisher")}
    if not at(edge.get(edge.path(kind=_TERMS.format(**plan))), "properties.accepted"):
        raise refused("terms not accepted", image=image, plan=plan)
    return plan


def _controllers(image: Item) -> tuple[Interface, ...]:
    """The disk controllers that the image has drivers for; SCSI alone where it names none (Azure
    Virtual Machines, "NVMe FAQ": an image must be tagged for NVMe)."""
    features = {one.get("name"): one.get("value") for one in at(image, "properties.features") or ()}
    return machines.controllers(str(features.get("DiskControllerTypes") or ""))
