"""Disks in the guest, found by the device name that diskbench chose: pure.

Sources: Compute Engine API, AttachedDisk.deviceName ("reflected into the /dev/disk/by-id/google-*
tree"); Google's guest-configs, 65-gce-disk-naming.rules and google_nvme_id, for local SSDs
(`google-local-nvme-ssd-N`, `google-local-ssd-N`). All persistent disks on NVMe are namespaces of
one controller and share its serial; they differ in WWN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import RentalFailed
from diskbench.providers.gcp.disk_request import LOCAL_SSD_GIB
from diskbench.units import GIB

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from diskbench.providers.guest_disks import GuestDisk

_LINK = "/dev/disk/by-id/google-"
LINK_S = 20.0
"""Seconds that udev has to make the link of a disk that is there; our choice."""
_LOCAL = {"nvme": "local-nvme-ssd", "scsi": "local-ssd"}


def with_unique_identity(guest_disks: Iterable[GuestDisk]) -> tuple[GuestDisk, ...]:
    """The disks, each with a unique identity."""
    return tuple(
        disk.model_copy(update={"identity": disk.wwn}) if disk.wwn else disk for disk in guest_disks
    )


def find_disk(
    guest_disks: Iterable[GuestDisk],
    device_name: str,
    size_bytes: int,
    before: Sequence[GuestDisk] | None,
) -> GuestDisk | None:
    """The guest's disk attached as `device_name`, verified by name, novelty and exact size in
    bytes.

    None while it has not appeared yet: udev makes the link before it stores the identity. Raises
    RentalFailed when another disk appeared instead.
    """
    disk = _named(guest_disks, device_name)
    if disk is None or not disk.identity:
        return None
    known = {key for disk in before or () for key in disk.keys}
    if known & disk.keys:
        raise RentalFailed(
            f"{disk.node} answers to {device_name} but existed before the attachment",
            advice="nothing was written; report this image: its disks have misleading names",
        )
    _check_size(disk, device_name, size_bytes)
    return disk


def without_link(
    guest_disks: Iterable[GuestDisk], size_bytes: int, before: Sequence[GuestDisk] | None
) -> GuestDisk | None:
    """The disk that appeared with the size asked for and bears none of Google's links, as in an
    image without its udev rules; None without one."""
    known = {key for disk in before or () for key in disk.keys}
    fresh = [disk for disk in with_unique_identity(guest_disks) if not known & disk.keys]
    bare = [disk for disk in fresh if not any(link.startswith(_LINK) for link in disk.links)]
    return next((disk for disk in bare if disk.size_bytes == size_bytes), None)


def no_link(disk: GuestDisk, device_name: str) -> RentalFailed:
    """The error of an image that makes no links for disks."""
    return RentalFailed(
        f"{disk.node} ({disk.size_bytes:,} bytes) appeared, but the guest made no link "
        f"{_LINK}{device_name} within {LINK_S:g} s: that it is this disk cannot be known",
        advice="this image lacks Google's udev rules (65-gce-disk-naming.rules and "
        "google_nvme_id): choose an --image with Google's guest environment, as all of Google's "
        "public images have; nothing was written",
    )


def find_local(
    guest_disks: Iterable[GuestDisk], count: int, interface: str, size_gib: int = LOCAL_SSD_GIB
) -> tuple[GuestDisk, ...]:
    """The first `count` local disks of the machine, of `size_gib` each. Raises RentalFailed."""
    disks = with_unique_identity(guest_disks)
    names = [f"{_LOCAL[interface]}-{index}" for index in range(count)]
    local = [_named(disks, name) for name in names]
    present = tuple(disk for disk in local if disk is not None)
    if len(present) < count:
        raise RentalFailed(
            f"the guest shows {len(present)} of {count} local SSDs ({_LINK}{_LOCAL[interface]}-*)",
            advice="choose another --instance-type, or an --image with Google's guest environment",
        )
    for disk, name in zip(present, names, strict=True):
        _check_size(disk, name, size_gib * GIB)
    return present


def _named(guest_disks: Iterable[GuestDisk], device_name: str) -> GuestDisk | None:
    """The disk with the link of that name, moved to the front of its links."""
    link = _LINK + device_name
    matches = [disk for disk in with_unique_identity(guest_disks) if link in disk.links]
    if len(matches) > 1:
        raise RentalFailed(
            f"{device_name} shows as {', '.join(d.node for d in matches)} in the guest: "
            "it cannot be known which of them it is"
        )
    if not matches:
        return None
    other_links = tuple(other for other in matches[0].links if other != link)
    return matches[0].model_copy(update={"links": (link, *other_links)})


def _check_size(disk: GuestDisk, name: str, size_bytes: int) -> None:
    if disk.size_bytes != size_bytes:
        raise RentalFailed(
            f"{disk.node} has {disk.size_bytes:,} bytes, {name} has {size_bytes:,}",
            advice="nothing was written",
        )
