"""Disks in the guest, found by volume id on Nitro and by attach name on Xen.

Sources: awsdocs/amazon-ec2-user-guide nvme-ebs-volumes.md (2023-01-19: the serial of an EBS NVMe
disk is its volume id without the dash, the model says EBS or instance store) and device_naming.md
(2023-03-07: /dev/sdf appears as /dev/xvdf).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.errors import RentalFailed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from diskbench.providers.guest import GuestDisk

STORE_MODEL = "Amazon EC2 NVMe Instance Storage"
_EBS_LINK = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_"
_STORE_LINK = "/dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_"
_GB = 10**9
_TOLERANCE = 0.05
"""The tolerance of an instance store's size, which EC2 rounds to GB; our choice."""


@dataclass(frozen=True)
class Volume:
    """One attached volume: its id, its attach name and its size."""

    id: str
    attached_as: str
    size_bytes: int


def find_volume(
    guest_disks: Iterable[GuestDisk],
    volume: Volume,
    before: Sequence[GuestDisk] | None,
    *,
    nvme: bool,
) -> GuestDisk | None:
    """The guest's disk of a volume, verified by name, novelty and exact size in bytes: pure.

    None while it has not appeared yet. Raises RentalFailed when another disk appeared instead.
    """
    known = {key for disk in before or () for key in disk.keys}
    matches = [disk for disk in guest_disks if is_volume(disk, volume, nvme=nvme)]
    if not matches:
        return None
    if len(matches) > 1:
        raise RentalFailed(
            f"{volume.id} shows as {', '.join(d.node for d in matches)} in the guest: "
            "it cannot be known which of them it is"
        )
    disk = matches[0]
    if not nvme and before is None:
        raise RentalFailed(
            f"{disk.node} existed before diskbench could see it appear, and has no serial",
            advice="nothing was written; start a new run",
        )
    if known & disk.keys:
        raise RentalFailed(
            f"{disk.node} answers to {volume.id} but existed before the attachment",
            advice="nothing was written; report this image: its disks have misleading names",
        )
    if disk.size_bytes != volume.size_bytes:
        raise RentalFailed(
            f"{disk.node} has {disk.size_bytes:,} bytes, {volume.id} has {volume.size_bytes:,}",
            advice="nothing was written",
        )
    return disk


def find_stores(
    guest_disks: Iterable[GuestDisk], count: int, size_gb: int
) -> tuple[GuestDisk, ...]:
    """The first `count` local disks of the machine, ordered by node: pure. Raises RentalFailed."""
    stores = sorted(
        (d for d in guest_disks if d.model == STORE_MODEL or d.path.startswith(_STORE_LINK)),
        key=lambda disk: (len(disk.node), disk.node),
    )
    if len(stores) < count:
        raise RentalFailed(
            f"the guest shows {len(stores)} instance store disks, not {count}",
            advice="choose another --instance-type",
        )
    for disk in stores[:count]:
        if abs(disk.size_bytes / _GB - size_gb) > _TOLERANCE * size_gb:
            raise RentalFailed(
                f"{disk.node} has {disk.size_bytes:,} bytes, EC2 says {size_gb} GB for it",
                advice="nothing was written",
            )
    return tuple(stores[:count])


def is_volume(disk: GuestDisk, volume: Volume, *, nvme: bool) -> bool:
    """Whether a disk of the guest has the volume's name: pure."""
    serial = volume.id.replace("-", "")
    if nvme:
        ebs_links = [link for link in disk.links if link.startswith(_EBS_LINK)]
        return disk.serial == serial or any(
            link.removeprefix(_EBS_LINK).partition("_")[0].partition("-")[0] == serial
            for link in ebs_links
        )
    letter = volume.attached_as.removeprefix("/dev/sd")
    return disk.node == f"/dev/xvd{letter}"
