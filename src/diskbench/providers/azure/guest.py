"""Disks in an Azure guest: attached ones by LUN, and local ones.

Sources: WALinuxAgent's udev rules (scsi1/lunN, resource) and azure-vm-utils (data/by-lun/N,
local/by-serial/…), by the Azure NVMe document of 2025-09-03. Images without azure-vm-utils, as
Debian 12, have no link for an NVMe disk: there the namespace says the LUN. The controller of remote
disks has the OS disk as namespace 1 and LUN N as namespace N + 2 (azure-vm-utils,
80-azure-disk.rules and azure-nvme-id; Azure Virtual Machines, "SCSI to NVMe").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import RentalFailed
from diskbench.providers.scripts import script

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from diskbench.ports import Host
    from diskbench.providers.guest import GuestDisk

_LUN_LINKS = ("/dev/disk/azure/scsi1/lun{lun}", "/dev/disk/azure/data/by-lun/{lun}")
_LUN_LINK_BEGINNINGS = tuple(link.partition("{")[0] for link in _LUN_LINKS)
_RESOURCE = "/dev/disk/azure/resource"
_LOCAL = "/dev/disk/azure/local/by-serial/"
_REMOTE_MODEL = "MSFT NVMe Accelerator"
_FIRST_LUN_NAMESPACE = 2
_LOCAL_MODEL = "Microsoft NVMe Direct Disk"


def find_lun(
    guest_disks: Iterable[GuestDisk], lun: int, size_bytes: int, before: Sequence[GuestDisk] | None
) -> GuestDisk | None:
    """The guest's disk attached as `lun`, verified by name, novelty and exact size in bytes: pure.

    None while it has not appeared yet. Raises RentalFailed when another disk appeared instead.
    """
    matches = [disk for disk in guest_disks if is_at_lun(disk, lun)]
    if not matches:
        return None
    if len(matches) > 1:
        raise RentalFailed(
            f"LUN {lun} shows as {', '.join(d.node for d in matches)} in the guest: "
            "it cannot be known which of them it is"
        )
    disk = matches[0]
    if before is None:
        raise RentalFailed(
            f"{disk.node} existed before diskbench could see it appear",
            advice="nothing was written; start a new run",
        )
    known = {key for disk in before for key in keys(disk)}
    if known & keys(disk):
        raise RentalFailed(
            f"{disk.node} answers to LUN {lun} but existed before the attachment",
            advice="nothing was written; report this image: its disks have misleading names",
        )
    if disk.size_bytes != size_bytes:
        raise RentalFailed(
            f"{disk.node} has {disk.size_bytes:,} bytes, the disk of LUN {lun} has {size_bytes:,}",
            advice="nothing was written",
        )
    return disk


def is_at_lun(disk: GuestDisk, lun: int) -> bool:
    """Whether a disk is attached as `lun`: by its names, else by its NVMe namespace."""
    if any(link.startswith(_LUN_LINK_BEGINNINGS) for link in disk.links):
        return not {link.format(lun=lun) for link in _LUN_LINKS}.isdisjoint(disk.links)
    remote = disk.model.startswith(_REMOTE_MODEL)
    return remote and disk.namespace == lun + _FIRST_LUN_NAMESPACE


def identity(disk: GuestDisk) -> str:
    """The disk's identity for the check before a write: disks of one NVMe controller share its
    serial and differ in WWN."""
    return disk.wwn or disk.identity


def keys(disk: GuestDisk) -> frozenset[str]:
    """The keys that recognise the disk later."""
    return frozenset({identity(disk) or disk.node, f"{disk.node} {disk.number}"})


def path(disk: GuestDisk) -> str:
    """The device name that does not depend on other attached disks."""
    return next((link for link in disk.links if link.startswith("/dev/disk/azure/")), disk.node)


def find_local(guest_disks: Iterable[GuestDisk], count: int) -> tuple[GuestDisk, ...]:
    """The first `count` local disks of the machine: the NVMe disks, else the temporary disk: pure.
    Raises RentalFailed."""
    listed = sorted(guest_disks, key=lambda disk: (len(disk.node), disk.node))
    local = [
        disk
        for disk in listed
        if disk.model.startswith(_LOCAL_MODEL) or any(x.startswith(_LOCAL) for x in disk.links)
    ] or [disk for disk in listed if _RESOURCE in disk.links]
    if len(local) < count:
        raise RentalFailed(
            f"the guest shows {len(local)} disks of its own, not {count}",
            advice="choose another --instance-type or --count",
        )
    return tuple(local[:count])


def mounted_at(host: Host, disk: GuestDisk) -> str | None:
    """The mount point of the disk or its first partition: cloud-init mounts a temporary disk.
    Raises ConnectionLost."""
    commands = f"number={disk.number}\n" + script("mounted_at.sh")
    return host.run(commands).text.strip() or None
