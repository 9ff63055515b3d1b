"""What was looked up before anything is rented: all that `acquire` needs, as JSON."""

from __future__ import annotations

from typing import Literal

from diskbench.model.base import Frozen
from diskbench.providers.azure.disk_request import AzureDiskRequest

DEFAULT_OS_GIB = 30
"""What Ubuntu's and Debian's images have, where an image does not say."""


class DiskPath(Frozen):
    """What a machine sustains on one path to its disks; MB/s are 10^6 bytes. None where Azure names
    no figure."""

    iops: float | None = None
    mb_per_s: float | None = None


class AzureMachine(Frozen):
    """A machine size as Azure describes it. `local_gib` is the temporary disk, or all NVMe disks of
    its own together where `local_nvme`."""

    size: str
    arch: Literal["x86_64", "arm64"]
    vcpus: int
    memory_bytes: int
    premium: bool
    interface: Literal["scsi", "nvme"]
    uncached: DiskPath
    cached: DiskPath
    cacheable: bool
    max_disks: int
    local_gib: float = 0
    local_nvme: bool = False
    burstable: bool = False


class AzureImage(Frozen):
    """What the machine starts from: a reference with a version, or the id of an image."""

    name: str
    reference: dict[str, str]
    os_gib: int | None = None


class AzureResolved(Frozen):
    """A rental's details. `zones` are tried in order; empty: no zone in particular. `subnet` is
    somebody's own, and reached without a public address."""

    region: str
    wanted: AzureDiskRequest
    size_gib: int
    machine: AzureMachine
    image: AzureImage
    os_type: str
    zones: tuple[str, ...]
    subnet: str | None
    ssh_cidr: str | None
    emulated: bool
