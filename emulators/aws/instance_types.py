"""What moto's copy of DescribeInstanceTypes says that matters to a machine in the lab."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emulators.guests import Style

GB = 10**9
"""Instance store is sold in gigabytes: an m5d.large's 75 GB show as 69.9 GiB in its guest."""


@dataclass(frozen=True)
class LocalDisk:
    """A disk of the machine's own, under the names its guest sees."""

    serial: str
    size_bytes: int
    node: str
    links: tuple[str, ...]


def style(kind: Mapping[str, Any]) -> Style:
    """How EBS volumes appear. Bare metal names no hypervisor and shows NVMe."""
    return "aws-xen" if kind.get("Hypervisor") == "xen" else "aws-nvme"


def caps(kind: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """IOPS and bytes/s of all EBS volumes together: what the type sustains.

    A smaller type reaches its maximum for 30 minutes a day; that burst is not imitated, so that a
    test meets the limit that counts at once.
    """
    limits = kind.get("EbsInfo", {}).get("EbsOptimizedInfo")
    if not limits:
        return None, None
    return float(limits["BaselineIops"]), limits["BaselineThroughputInMBps"] * 1e6


def local_disks(
    kind: Mapping[str, Any], instance: str, mappings: Sequence[Mapping[str, Any]]
) -> tuple[LocalDisk, ...]:
    """The instance store. NVMe ones come by themselves, others only where the launch mapped them:
    EC2 User Guide, InstanceStorage.md (2023-05-11)."""
    storage = kind.get("InstanceStorageInfo")
    if not storage:
        return ()
    sizes = [d["SizeInGB"] * GB for d in storage["Disks"] for _ in range(d["Count"])]
    if storage["NvmeSupport"] == "unsupported":
        mapped = {m["VirtualName"]: m["DeviceName"] for m in mappings if m.get("VirtualName")}
        return tuple(
            LocalDisk(f"ephemeral{i}", size, _xen_name(mapped[f"ephemeral{i}"]), ())
            for i, size in enumerate(sizes)
            if f"ephemeral{i}" in mapped
        )
    first = 0 if style(kind) == "aws-xen" else 1  # there nvme0n1 is the root volume
    return tuple(_nvme(_serial(instance, i), size, first + i) for i, size in enumerate(sizes))


def ebs_offset(kind: Mapping[str, Any], disks: Sequence[LocalDisk]) -> int:
    """How many NVMe names before the EBS volumes' are taken."""
    return len(disks) if style(kind) == "aws-nvme" else 0


def _nvme(serial: str, size: int, number: int) -> LocalDisk:
    link = f"/dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_{serial}"
    return LocalDisk(serial, size, f"/dev/nvme{number}n1", (link, f"{link}-ns-1"))


def _serial(instance: str, index: int) -> str:
    return "AWS" + hashlib.sha256(f"{instance}/{index}".encode()).hexdigest()[:17].upper()


def _xen_name(device: str) -> str:
    return "/dev/xvd" + device[-1]
