"""Disks in the guest, found by the virtual disk's identifier.

With `disk.EnableUUID` a SCSI disk's WWN is the `backing.uuid` of its virtual disk, and udev's
rules for persistent storage make /dev/disk/by-id/wwn-0x… of it. A disk on a virtual NVMe
controller shows no identifier: it is recognised by its appearance, model and size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import RentalFailed
from diskbench.model.base import Frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.providers.guest import GuestDisk
    from diskbench.providers.vsphere.disk_request import Controller

NVME_MODEL = "VMware Virtual NVMe Disk"
_LINK = "/dev/disk/by-id/wwn-0x"


class VirtualDisk(Frozen):
    """One of our disks as vSphere describes it."""

    key: int
    uuid: str
    size_bytes: int

    @property
    def wwn(self) -> str:
        """Its identifier as the guest shows it: lower-case, without dashes."""
        return self.uuid.replace("-", "").lower()


def find_disks(
    guest_disks: Sequence[GuestDisk],
    ours: Sequence[VirtualDisk],
    before: Sequence[GuestDisk] | None,
    controller: Controller,
) -> tuple[GuestDisk, ...] | None:
    """The guest's disks of our virtual disks, in order, verified by name, novelty and exact size
    in bytes: pure. None while some are missing. Raises RentalFailed for other disks."""
    known = {key for disk in before or () for key in disk.keys}
    matches = [[disk for disk in guest_disks if _is(disk, virtual)] for virtual in ours]
    if controller == "nvme" and not any(matches):
        return _by_appearance(guest_disks, ours, before)
    if not all(matches):
        return None
    chosen = []
    for virtual_disk, disks in zip(ours, matches, strict=True):
        if len(disks) > 1:
            nodes = ", ".join(disk.node for disk in disks)
            raise RentalFailed(
                f"virtual disk {virtual_disk.uuid} shows as {nodes} in the guest: one was expected"
            )
        _check(disks[0], virtual_disk, known)
        chosen.append(disks[0])
    return tuple(chosen)


def still_shown(
    guest_disks: Sequence[GuestDisk],
    gone: Sequence[VirtualDisk],
    before: Sequence[GuestDisk] | None,
    controller: Controller,
) -> tuple[str, ...]:
    """The nodes of our removed disks that the guest still shows: pure."""
    shown = [disk for disk in guest_disks if any(_is(disk, virtual) for virtual in gone)]
    if controller == "nvme" and before is not None:
        known = {key for disk in before for key in _places(disk)}
        shown += [d for d in guest_disks if d.model == NVME_MODEL and not known & _places(d)]
    return tuple(dict.fromkeys(disk.node for disk in shown))


def _by_appearance(
    guest_disks: Sequence[GuestDisk],
    ours: Sequence[VirtualDisk],
    before: Sequence[GuestDisk] | None,
) -> tuple[GuestDisk, ...] | None:
    """The new NVMe disks; their order does not matter, since all are equal."""
    if before is None:
        raise RentalFailed(
            "the disk existed before diskbench could see it appear, and has no identifier",
            advice="nothing was written; start a new run, or use --controller pvscsi",
        )
    known = {key for disk in before for key in _places(disk)}
    new = [disk for disk in guest_disks if not known & _places(disk) and disk.model == NVME_MODEL]
    if len(new) < len(ours):
        return None
    if len(new) > len(ours):
        raise RentalFailed(
            f"{len(new)} disks appeared in the guest, {len(ours)} were attached",
            advice="nothing was written; start a new run, or use --controller pvscsi",
        )
    new.sort(key=lambda disk: (len(disk.node), disk.node))
    for disk, virtual_disk in zip(new, ours, strict=True):
        _check(disk, virtual_disk, frozenset())
    return tuple(new)


def _places(disk: GuestDisk) -> frozenset[str]:
    """Node and number: virtual NVMe controllers of one machine may show one serial number."""
    return frozenset({f"{disk.node} {disk.number}"})


def _is(disk: GuestDisk, virtual_disk: VirtualDisk) -> bool:
    names = {link.removeprefix(_LINK) for link in disk.links if link.startswith(_LINK)}
    identifiers = {text.lower().removeprefix("naa.").removeprefix("uuid.").replace("-", "")
            for text in (disk.wwn, disk.identity)}  # fmt: skip
    return virtual_disk.wwn in names | identifiers


def _check(disk: GuestDisk, virtual_disk: VirtualDisk, known: frozenset[str] | set[str]) -> None:
    if known & disk.keys:
        raise RentalFailed(
            f"{disk.node} answers to {virtual_disk.uuid} but existed before the attachment",
            advice="nothing was written; report this template: its disks have misleading names",
        )
    if disk.size_bytes != virtual_disk.size_bytes:
        raise RentalFailed(
            f"{disk.node} has {disk.size_bytes:,} bytes, "
            f"{virtual_disk.uuid} has {virtual_disk.size_bytes:,}",
            advice="nothing was written",
        )
