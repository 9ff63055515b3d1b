"""The disks as the guest sees them: by the volume's id on Nitro, by attach name on Xen.

Sources: awsdocs/amazon-ec2-user-guide nvme-ebs-volumes.md (2023-01-19: the serial of an EBS NVMe
disk is its volume id without the dash, the model says EBS or instance store) and device_naming.md
(2023-03-07: /dev/sdf appears as /dev/xvdf).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.errors import RentalFailed
from diskbench.model.base import Frozen
from diskbench.providers.scripts import script

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from diskbench.ports import Host

STORE_MODEL = "Amazon EC2 NVMe Instance Storage"
_LINK = "/dev/disk/by-id/nvme-"
_EBS_LINK = f"{_LINK}Amazon_Elastic_Block_Store_"
_STORE_LINK = f"{_LINK}Amazon_EC2_NVMe_Instance_Storage_"
_GB = 10**9
_TOLERANCE = 0.05
"""How far an instance store may be off the size that EC2 rounds to GB; our choice."""


class GuestDisk(Frozen):
    """One whole disk in the guest. `identity` is what the guard before a write takes for it."""

    node: str
    number: str
    size_bytes: int
    identity: str
    serial: str = ""
    model: str = ""
    links: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The name that stays the same whatever else is attached."""
        return next((link for link in self.links if link.startswith(_LINK)), self.node)

    @property
    def keys(self) -> frozenset[str]:
        """By what it is known again later: identity, and node with kernel number."""
        return frozenset({self.identity or self.node, f"{self.node} {self.number}"})


@dataclass(frozen=True)
class Volume:
    """One attached volume: its id, the name it was attached under, its size."""

    id: str
    attached_as: str
    size_bytes: int


def disks(host: Host) -> tuple[GuestDisk, ...]:
    """The whole disks that have a node in the guest's /dev, now. Raises ConnectionLost."""
    return parse_disks(host.run(script("ec2_disks.sh")).text)


def disks_before(host: Host, *, attached: bool) -> tuple[GuestDisk, ...] | None:
    """The disks before ours was attached. Written down in the guest the first time, so that the
    second time, by whatever process, has the same answer; None when ours were `attached` already
    and nothing was written down."""
    parts = (
        f"attached={'yes' if attached else ''}",
        script("ec2_disks_before.sh") + script("ec2_disks.sh") + "}",
        "remember",
    )
    told = host.run("\n".join(parts))
    return None if told.exit == 3 else parse_disks(told.text)


def parse_disks(text: str) -> tuple[GuestDisk, ...]:
    """The output of ec2_disks.sh: pure."""
    found: list[GuestDisk] = []
    links: dict[str, list[str]] = {}
    for line in text.splitlines():
        fields = line.split("\t")
        if fields[0] == "disk" and len(fields) == 7 and fields[3].isdecimal():
            _, node, number, sectors, identity, serial, model = fields
            found.append(
                GuestDisk(
                    node=node,
                    number=number,
                    size_bytes=int(sectors) * 512,
                    identity=identity,
                    serial=serial,
                    model=model,
                )
            )
        elif fields[0] == "link" and len(fields) == 3:
            links.setdefault(fields[2], []).append(fields[1])
    # A namespace has a second link (`…-ns-1`, `…_1`); the plain one is the shortest.
    return tuple(
        disk.model_copy(
            update={"links": tuple(sorted(links.get(disk.number, []), key=lambda x: (len(x), x)))}
        )
        for disk in found
    )


def find_volume(
    found: Iterable[GuestDisk],
    volume: Volume,
    before: Sequence[GuestDisk] | None,
    *,
    nvme: bool,
) -> GuestDisk | None:
    """The disk of a volume, proved by name, newness and size to the byte: pure.

    None while it is not there yet. Raises RentalFailed when what is there is something else.
    """
    known = {key for disk in before or () for key in disk.keys}
    named = [disk for disk in found if _is_volume(disk, volume, nvme=nvme)]
    if not named:
        return None
    if len(named) > 1:
        raise RentalFailed(
            f"{volume.id} shows as {', '.join(d.node for d in named)} in the guest: "
            "which of them it is cannot be known"
        )
    disk = named[0]
    if not nvme and before is None:
        raise RentalFailed(
            f"{disk.node} was there before it could be seen to appear, and has no serial",
            advice="nothing was written; start a new run",
        )
    if known & disk.keys:
        raise RentalFailed(
            f"{disk.node} answers to {volume.id} but was there before that was attached",
            advice="nothing was written; report this image: its disks have misleading names",
        )
    if disk.size_bytes != volume.size_bytes:
        raise RentalFailed(
            f"{disk.node} has {disk.size_bytes:,} bytes, {volume.id} has {volume.size_bytes:,}",
            advice="nothing was written",
        )
    return disk


def find_stores(found: Iterable[GuestDisk], count: int, size_gb: int) -> tuple[GuestDisk, ...]:
    """The first `count` of the machine's own disks, by node: pure. Raises RentalFailed."""
    stores = sorted(
        (d for d in found if d.model == STORE_MODEL or d.path.startswith(_STORE_LINK)),
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


def _is_volume(disk: GuestDisk, volume: Volume, *, nvme: bool) -> bool:
    serial = volume.id.replace("-", "")
    if nvme:
        named = [link for link in disk.links if link.startswith(_EBS_LINK)]
        return disk.serial == serial or any(
            link.removeprefix(_EBS_LINK).partition("_")[0].partition("-")[0] == serial
            for link in named
        )
    letter = volume.attached_as.removeprefix("/dev/sd")
    return disk.node == f"/dev/xvd{letter}"
