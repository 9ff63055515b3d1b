"""The request for a lab host, and the device names that its disks have in a cloud's guest. Pure.
The names: awsdocs/amazon-ec2-user-guide nvme-ebs-volumes.md and device_naming.md (2023), the udev
rules of WALinuxAgent and azure-vm-utils, Google's guest environment, udev's own for SCSI
(docs/lab.md)."""

from __future__ import annotations

import hashlib
import re
import string
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import Field

from diskbench.catalog.bucket import Allowance, of_duration
from diskbench.catalog.lookup import DiskLimits, custom_limits, limits
from diskbench.catalog.shipped import catalogue
from diskbench.model.base import Frozen
from diskbench.model.rental import CUSTOM, DiskSpec
from diskbench.providers.lab.places import refused
from diskbench.providers.lab.supervisor.rates import MachineGate

_CLOUDS: dict[Style, str] = {
    "aws-nvme": "aws", "aws-xen": "aws", "azure": "azure", "azure-nvme": "azure", "google": "gcp",
}  # fmt: skip
_LEASE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_VOLUME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


Cache = Literal["none", "readonly", "readwrite"]


class LabRequest(Frozen):
    """One lab host and its disks. `style` sets the disks' device names; `volumes` are the cloud's
    own ids for them in order (volume ids, device names, backing UUIDs), generated where missing.
    `disk` None is a host without disks, which are attached later. `time_scale` divides the capacity
    of burst buckets and nothing else. `vm_…` cap the sum of all disks, `machine` are the limits of
    the machine type that is emulated. `cache` is a host cache before each disk. `hidden_burst` is
    how many times their limits the disks reach beyond what the catalogue says, for
    `hidden_burst_for_s` from a full bucket (0: no such burst). `noise` is the standard deviation of
    the limits from second to second (0.05 is 5 %); every `stall_every_s` on average, no request is
    served for `stall_for_s`. `latency_ms` is the median of the minimum latency of a request,
    `latency_jitter` the sigma of its lognormal distribution (0: always the same). All repeat with
    `seed`. `expires_at` is in Unix seconds. `turn` counts the sets of disks that the host has
    had."""

    style: Style = "aws-nvme"
    disk: DiskSpec | None = None
    volumes: tuple[str, ...] = ()
    user: str = "root"
    time_scale: float = Field(default=1.0, gt=0)
    vm_iops: float | None = Field(default=None, gt=0)
    vm_bytes_per_s: float | None = Field(default=None, gt=0)
    machine: tuple[MachineGate, ...] = ()
    cache: Cache = "none"
    hidden_burst: float = Field(default=0.0, ge=0)
    hidden_burst_for_s: float = Field(default=0.0, ge=0)
    noise: float = Field(default=0.0, ge=0, le=1)
    stall_every_s: float = Field(default=0.0, ge=0)
    stall_for_s: float = Field(default=0.0, ge=0)
    latency_ms: float = Field(default=0.0, ge=0)
    latency_jitter: float = Field(default=0.0, ge=0, le=2)
    seed: int = 0
    expires_at: float | None = None
    turn: int = Field(default=1, ge=1)


@dataclass(frozen=True)
class LabKeys:
    """Keys made by the caller: the host's private key, and the public keys that may log in. The
    caller keeps the user's private key at `identity_file`."""

    host_key: str
    authorized_keys: str
    identity_file: str


def check_lease_id(lease_id: str) -> None:
    """Raise InvalidValue for an id that cannot name a file, a group and a host."""
    if not is_lease_id(lease_id):
        raise refused("no lease id", lease_id=lease_id)


def is_lease_id(text: str) -> bool:
    """Whether a text may be the id of a lease, and so the name of a directory of the lab."""
    return bool(_LEASE.fullmatch(text))


def check_volume(volume: str) -> None:
    """Raise InvalidValue for a volume that cannot be a part of a file's and a device's name."""
    if not _VOLUME.fullmatch(volume):
        raise refused("no volume", volume=volume)


def cloud_of(style: Style) -> str | None:
    """The cloud whose catalogue has the disks of a style; None for none."""
    return _CLOUDS.get(style)


def throughput_unit(style: Style, disk: DiskSpec) -> str:
    """The unit of the disk's throughput: its cloud's, MiB/s for a `custom` disk."""
    cloud = _CLOUDS.get(style)
    if cloud is None or disk.type == CUSTOM:
        return "MiB/s"
    sold = catalogue(cloud).disks[disk.type].throughput
    return (sold.unit if sold else None) or "MiB/s"


def disk_limits(style: Style, disk: DiskSpec) -> DiskLimits:
    """The disk's limits by the catalogue of the style's cloud, or by the figures given for a
    `custom` disk. Raises UnknownName or InvalidValue."""
    cloud = _CLOUDS.get(style)
    if disk.type == CUSTOM:
        return custom_limits(disk.size_gib, disk.iops, disk.throughput_mib_per_s, disk.io_kib)
    if cloud is None:
        raise refused("disk in no catalogue", disk=disk, style=style, custom=CUSTOM)
    return limits(cloud, disk.type, disk.size_gib, disk.iops, disk.throughput_mib_per_s)


def real_limits(request: LabRequest, disk: DiskSpec) -> DiskLimits:
    """The limits that a disk of the request is held to: the catalogue's, with the burst that no
    catalogue knows. A bucket that is documented stays where it allows more. Raises as
    `disk_limits`."""
    known = disk_limits(request.style, disk)
    if not request.hidden_burst:
        return known
    # The given time is that of this machine: the time scale divides capacities later.
    seconds = request.hidden_burst_for_s * request.time_scale

    def with_burst(allowance: Allowance | None) -> Allowance | None:
        burst = request.hidden_burst * allowance.baseline if allowance else 0.0
        if allowance is None or burst <= allowance.ceiling:
            return allowance
        return of_duration(allowance.baseline, burst, seconds)

    pools = [(pool, with_burst(pool.iops), with_burst(pool.bytes_per_s)) for pool in known.pools]
    bursting = (replace(pool, iops=iops, bytes_per_s=size) for pool, iops, size in pools)
    return replace(known, pools=tuple(bursting))


Style = Literal["aws-nvme", "aws-xen", "azure", "azure-nvme", "google", "vsphere"]

_LETTERS = string.ascii_lowercase


def disk_names(style: Style, index: int, volume: str) -> tuple[str, ...]:
    """The names of the disk attached as number `index` (from 0) with the cloud's id `volume`, all
    absolute paths in the guest: the links first, the best of them before the others, then the
    device node. The first does not depend on other attached disks."""
    by_id = "/dev/disk/by-id"
    match style:
        case "aws-nvme":
            serial = volume.replace("-", "")
            link = f"{by_id}/nvme-Amazon_Elastic_Block_Store_{serial}"
            return link, f"/dev/nvme{index + 1}n1"
        case "aws-xen":
            return (f"/dev/xvd{_LETTERS[index + 5]}",)  # f to p are for data disks
        case "azure":
            # sda is the system's disk, sdb the temporary one.
            return f"/dev/disk/azure/scsi1/lun{index}", f"/dev/sd{_LETTERS[index + 2]}"
        case "azure-nvme":
            # Namespace 1 is the system's disk (azure-vm-utils, azure-nvme-id).
            return f"/dev/disk/azure/data/by-lun/{index}", f"/dev/nvme0n{index + 2}"
        case "google":
            links = (f"{by_id}/google-{volume}", f"{by_id}/scsi-0Google_PersistentDisk_{volume}")
            return *links, f"/dev/sd{_LETTERS[index + 1]}"
        case "vsphere":
            uuid = volume.replace("-", "").lower()
            links = (f"{by_id}/wwn-0x{uuid}", f"{by_id}/scsi-3{uuid}")
            return *links, f"/dev/sd{_LETTERS[index + 1]}"


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
    "aws-nvme": 27, "aws-xen": 11, "azure": 24, "azure-nvme": 24, "google": 25, "vsphere": 25,
}  # fmt: skip
"""How many disks a style has names for here: Nitro's default number of EBS volumes, Xen's f to p,
and one letter each for the others."""
