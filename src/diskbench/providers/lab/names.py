"""The device names of disks in a cloud's guest: pure.

Source: awsdocs/amazon-ec2-user-guide nvme-ebs-volumes.md and device_naming.md (2023), the
WALinuxAgent and azure-vm-utils udev rules, Google's guest environment, and udev's own rules for
SCSI; see docs/lab.md.
"""

from __future__ import annotations

import hashlib
import string
from dataclasses import dataclass
from typing import Literal

Style = Literal["aws-nvme", "aws-xen", "azure", "azure-nvme", "google", "vsphere"]

_LETTERS = string.ascii_lowercase


@dataclass(frozen=True)
class DeviceNames:
    """A disk's device node and the links to it, all absolute paths in the guest."""

    node: str
    links: tuple[str, ...]

    @property
    def best(self) -> str:
        """The device name that does not depend on other attached disks."""
        return self.links[0] if self.links else self.node


def disk_names(style: Style, index: int, volume: str) -> DeviceNames:
    """The names of the disk attached as number `index` (from 0) with the cloud's id `volume`."""
    by_id = "/dev/disk/by-id"
    match style:
        case "aws-nvme":
            serial = volume.replace("-", "")
            link = f"{by_id}/nvme-Amazon_Elastic_Block_Store_{serial}"
            return DeviceNames(f"/dev/nvme{index + 1}n1", (link,))
        case "aws-xen":
            return DeviceNames(f"/dev/xvd{_LETTERS[index + 5]}", ())  # f to p are for data disks
        case "azure":
            # sda is the system's disk, sdb the temporary one.
            return DeviceNames(
                f"/dev/sd{_LETTERS[index + 2]}", (f"/dev/disk/azure/scsi1/lun{index}",)
            )
        case "azure-nvme":
            # Namespace 1 is the system's disk (azure-vm-utils, azure-nvme-id).
            return DeviceNames(f"/dev/nvme0n{index + 2}", (f"/dev/disk/azure/data/by-lun/{index}",))
        case "google":
            links = (f"{by_id}/google-{volume}", f"{by_id}/scsi-0Google_PersistentDisk_{volume}")
            return DeviceNames(f"/dev/sd{_LETTERS[index + 1]}", links)
        case "vsphere":
            uuid = volume.replace("-", "").lower()
            return DeviceNames(
                f"/dev/sd{_LETTERS[index + 1]}", (f"{by_id}/wwn-0x{uuid}", f"{by_id}/scsi-3{uuid}")
            )


def made_up_volume(style: Style, lease_id: str, index: int, turn: int = 1) -> str:
    """A generated id in the cloud's form, the same at each call and different for each turn."""
    of_turn = f"{turn}-" if turn > 1 else ""
    digest = hashlib.sha256(f"{lease_id}/{of_turn}{index}".encode()).hexdigest()
    match style:
        case "aws-nvme" | "aws-xen":
            return f"vol-0{digest[:16]}"
        case "azure" | "azure-nvme":
            return f"diskbench-{lease_id}-{of_turn}{index}"
        case "google":
            return f"diskbench-{of_turn}{index}"
        case "vsphere":
            return f"6000c29{digest[:25]}"


MAX_DISKS = {
    "aws-nvme": 27,
    "aws-xen": 11,
    "azure": 24,
    "azure-nvme": 24,
    "google": 25,
    "vsphere": 25,
}
"""How many disks a style has names for here: Nitro's default number of EBS volumes, Xen's f to p,
and one letter each for the others."""
