"""The machine image: the newest Ubuntu, or the one of `--image`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from diskbench.errors import DiskbenchError, InvalidValue
from diskbench.providers.azure.errors import is_missing
from diskbench.providers.azure.resolved import AzureImage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from diskbench.providers.azure.client import AzureClient, Item
    from diskbench.providers.azure.resolved import Interface

_KNOWN = {
    "ubuntu": {
        "x86_64": "Canonical:ubuntu-24_04-lts:server:latest",
        "arm64": "Canonical:ubuntu-24_04-lts:server-arm64:latest",
    },
    "debian": {
        "x86_64": "Debian:debian-12:12-gen2:latest",
        "arm64": "Debian:debian-12:12-arm64:latest",
    },
}
"""Source: PerfKitBenchmarker's Azure virtual machines, 2026-08-20 (arm64 of Debian: as named
there for other offers, not tried)."""
_URN = re.compile(r"[^:/]+:[^:/]+:[^:/]+:[^:/]+")
_SUBSCRIPTION = r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute"
_OWN = re.compile(_SUBSCRIPTION + r"/images/[^/]+", re.IGNORECASE)
_GALLERY = re.compile(
    rf"(?P<image>{_SUBSCRIPTION}/galleries/[^/]+/images/[^/]+)(?P<version>/versions/[^/]+)?",
    re.IGNORECASE,
)
_SHARED = re.compile(r"/(CommunityGalleries|SharedGalleries)/.+", re.IGNORECASE)
_READ = "Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read"
_OWN_VERSION, _GALLERY_VERSION = "2024-11-01", "2024-03-03"
"""API versions of Microsoft.Compute/images and of galleries (azure-mgmt-compute 39.0.0)."""
_TERMS = (
    "/subscriptions/{subscription}/providers/Microsoft.MarketplaceOrdering/offerTypes/virtualmachine"
    "/publishers/{publisher}/offers/{product}/plans/{name}/agreements/current"
)
_TERMS_VERSION = "2021-01-01"
"""Marketplace Agreements, "Get" (azure-mgmt-marketplaceordering)."""


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
    where = (region, publisher, offer, sku)
    try:
        if version == "latest":
            version = _newest(edge, where)
        image = edge.call(_READ, "compute", "virtual_machine_images.get", *where, version)
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
        os_gib=_size_gib(properties.get("osDiskImage")),
        plan=plan,
        generation=properties.get("hyperVGeneration"),
        controllers=_controllers(properties),
    )


def _own(edge: AzureClient, image_id: str) -> AzureImage:
    image = _by_id(edge, "Microsoft.Compute/images/read", image_id, _OWN_VERSION)
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
    action = "Microsoft.Compute/galleries/images"
    definition = _by_id(edge, f"{action}/read", definition_id, _GALLERY_VERSION)
    properties = definition.get("properties") or {}
    os_gib = None
    if version:
        made = _by_id(edge, f"{action}/versions/read", image_id, _GALLERY_VERSION)
        storage = (made.get("properties") or {}).get("storageProfile") or {}
        os_gib = _size_gib(storage.get("osDiskImage"), "sizeInGB")
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


def _by_id(edge: AzureClient, action: str, resource_id: str, version: str) -> Item:
    return edge.call(action, "resources", "resources.get_by_id", resource_id, api_version=version)


def _check_terms(edge: AzureClient, name: str, plan: Mapping[str, str]) -> None:
    """Refuse an image whose terms nobody accepted in this subscription: Azure would refuse the
    machine (Marketplace, "Accept the terms of an image"). Raises InvalidValue."""
    agreement = edge.call(
        "Microsoft.MarketplaceOrdering/offerTypes/publishers/offers/plans/agreements/read",
        "resources", "resources.get_by_id",
        _TERMS.format(subscription=edge.azure.subscription, **plan), api_version=_TERMS_VERSION,
    )  # fmt: skip
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


def _newest(edge: AzureClient, where: tuple[str, str, str, str]) -> str:
    listed = edge.listed(_READ, "compute", "virtual_machine_images.list", *where)
    if not listed:
        raise InvalidValue("it has no version")
    return max((str(item["name"]) for item in listed), key=_as_version)


def _as_version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdecimal())


def _size_gib(disk: Mapping[str, object] | None, key: str = "sizeInGb") -> int | None:
    size = (disk or {}).get(key)
    return int(str(size)) if size else None
