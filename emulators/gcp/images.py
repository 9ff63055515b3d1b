"""Public images by family, in the projects of those who publish them.

Families: PerfKitBenchmarker at 2026-08-20. Only Ubuntu's images bring cloud-init, and a default
user by it; all have Google's guest agent, which makes the users that `ssh-keys` names.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from emulators.gcp import regions
from emulators.gcp.call import Call, not_found
from emulators.gcp.cloud import Cloud
from emulators.gcp.regions import path_of


@dataclass(frozen=True)
class Image:
    """A public image."""

    project: str
    family: str
    name: str
    user: str | None
    arch: str = "X86_64"
    size_gb: int = 10
    cloud_init: bool = True
    deprecated: bool = False
    uefi: bool = True
    """Whether it can be the boot disk of a Shielded VM."""

    @property
    def path(self) -> str:
        """Its path."""
        return f"projects/{self.project}/global/images/{self.name}"


def _ubuntu(family: str, name: str, *, arch: str = "X86_64", old: bool = False) -> Image:
    return Image("ubuntu-os-cloud", family, name, "ubuntu", arch, deprecated=old)


IMAGES = (
    _ubuntu("ubuntu-2204-lts", "ubuntu-2204-jammy-v20261101"),
    _ubuntu("ubuntu-2204-lts-arm64", "ubuntu-2204-jammy-arm64-v20261101", arch="ARM64"),
    _ubuntu("ubuntu-2404-lts-amd64", "ubuntu-2404-noble-amd64-v20261001", old=True),
    _ubuntu("ubuntu-2404-lts-amd64", "ubuntu-2404-noble-amd64-v20261101"),
    _ubuntu("ubuntu-2404-lts-arm64", "ubuntu-2404-noble-arm64-v20261101", arch="ARM64"),
    _ubuntu("ubuntu-2604-lts-amd64", "ubuntu-2604-resolute-amd64-v20261101"),
    _ubuntu("ubuntu-2604-lts-arm64", "ubuntu-2604-resolute-arm64-v20261101", arch="ARM64"),
    Image("debian-cloud", "debian-12", "debian-12-bookworm-v20261101", None, cloud_init=False),
    Image("rhel-cloud", "rhel-9", "rhel-9-v20261101", None, size_gb=20, cloud_init=False),
    # Somebody's own: made before Shielded VM, with cloud-init.
    Image(
        "bring-your-own", "seasoned", "seasoned-v20180101", None, uefi=False,
    ),
    Image(
        "rocky-linux-cloud", "rocky-linux-9", "rocky-linux-9-v20261101", None,
        size_gb=20, cloud_init=False,
    ),
)  # fmt: skip


def named(reference: str, project: str) -> Image:
    """The image that a `sourceImage` means: by name, or the newest of a family. Raises Refusal."""
    path = path_of(reference, project) or reference
    for image in IMAGES:
        family = f"projects/{image.project}/global/images/family/{image.family}"
        if path == image.path or (path == family and not image.deprecated):
            return image
    raise not_found(path)


def get(_: Cloud, call: Call) -> dict[str, Any]:
    """One image."""
    path = call.names("image", "images")
    for image in IMAGES:
        if image.path == path:
            return _row(image)
    raise not_found(path)


def get_from_family(_: Cloud, call: Call) -> dict[str, Any]:
    """The newest image of a family that is not deprecated."""
    for image in IMAGES:
        of_family = (image.project, image.family) == (call.project, call.path["family"])
        if of_family and not image.deprecated:
            return _row(image)
    raise not_found(f"{call.scope}/images/family/{call.path['family']}")


def _features(image: Image) -> Iterator[str]:
    yield from ("VIRTIO_SCSI_MULTIQUEUE", "GVNIC")
    if image.uefi:
        yield "UEFI_COMPATIBLE"


def _row(image: Image) -> dict[str, Any]:
    row = regions.fixed(
        "image",
        image.path,
        family=image.family,
        diskSizeGb=str(image.size_gb),
        status="READY",
        sourceType="RAW",
        architecture=image.arch,
        guestOsFeatures=[{"type": name} for name in _features(image)],
    )
    if image.deprecated:
        row["deprecated"] = {"state": "DEPRECATED"}
    return row
