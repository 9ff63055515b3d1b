"""The machine image: the newest Ubuntu, or the one of `--image`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, InvalidValue
from diskbench.providers.azure.errors import is_missing
from diskbench.providers.azure.resolved import AzureImage

if TYPE_CHECKING:
    from diskbench.providers.azure.client import AzureClient, Item

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
_ID = re.compile(r"/(subscriptions|CommunityGalleries|SharedGalleries)/.+", re.IGNORECASE)
_READ = "Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read"


def find_image(edge: AzureClient, region: str, typed: str | None, arch: str) -> AzureImage:
    """The image of `--image`: `ubuntu`, `debian`, a URN, or the id of an image of yours. The
    newest version is named, so that a second attempt uses the same. Raises InvalidValue."""
    named = _KNOWN.get(typed or "ubuntu", {}).get(arch, typed or "")
    if _ID.fullmatch(named):
        return AzureImage(name=named.rpartition("/")[2], reference={"id": named})
    if not _URN.fullmatch(named):
        raise InvalidValue(
            f"--image {typed!r} is no image",
            advice=f"give {', '.join(_KNOWN)}, Publisher:Offer:Sku:Version or the id of an image",
            field="image",
        )
    publisher, offer, sku, version = named.split(":")
    where = (region, publisher, offer, sku)
    try:
        if version == "latest":
            version = _newest(edge, where)
        image = edge.call(_READ, "compute", "virtual_machine_images.get", *where, version)
    except DiskbenchError as error:
        if is_missing(error) or isinstance(error, InvalidValue):
            raise InvalidValue(
                f"there is no image {named} in {region}: {error.message}",
                advice="az vm image list --all lists those of a publisher",
            ) from error
        raise
    reference = {"publisher": publisher, "offer": offer, "sku": sku, "version": version}
    return AzureImage(
        name=f"{publisher}:{offer}:{sku}:{version}", reference=reference, os_gib=_size_gib(image)
    )


def _newest(edge: AzureClient, where: tuple[str, str, str, str]) -> str:
    listed = edge.listed(_READ, "compute", "virtual_machine_images.list", *where)
    if not listed:
        raise InvalidValue("it has no version")
    return max((str(item["name"]) for item in listed), key=_as_version)


def _as_version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdecimal())


def _size_gib(told: Item) -> int | None:
    disk = (told.get("properties") or {}).get("osDiskImage") or {}
    size = disk.get("sizeInGb")
    return int(size) if size else None
