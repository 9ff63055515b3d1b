"""The lookup's result before renting: all that `acquire` needs, as JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from diskbench.model.base import Frozen
from diskbench.providers.azure.disk_request import AzureDiskRequest
from diskbench.providers.skeleton.cloud import RentalDetails

Interface = Literal["scsi", "nvme"]
DEFAULT_OS_GIB = 30
"""The size of Ubuntu's and Debian's images, for an image that does not report one."""


class DiskPath(Frozen):
    """A machine's sustained limits on one path to its disks; MB/s are 10^6 bytes per second.
    None where Azure publishes no figure."""

    iops: float | None = None
    mb_per_s: float | None = None


class AzureMachine(Frozen):
    """A machine size as Azure describes it. `local_gib` is the size of the temporary disk or,
    with `local_nvme`, of all local NVMe disks together. `controllers` are the disk controllers that
    the size offers, `interface` the one to use, and `controller` its name in the request; None
    where the image cannot choose (Hyper-V generation 1)."""

    size: str
    arch: Literal["x86_64", "arm64"]
    vcpus: int
    memory_bytes: int
    premium: bool
    interface: Interface
    uncached: DiskPath
    cached: DiskPath
    cacheable: bool
    max_disks: int
    local_gib: float = 0
    local_nvme: bool = False
    burstable: bool = False
    controllers: tuple[Interface, ...] = ("scsi",)
    controller: str | None = None


class AzureImage(Frozen):
    """The machine's image: a reference with a version, or the id of an image. `plan` is the
    purchase plan of a marketplace image; `generation` (V1, V2) and `controllers` are None and empty
    where the image does not report them."""

    name: str
    reference: dict[str, str]
    os_gib: int | None = None
    plan: dict[str, str] | None = None
    generation: str | None = None
    controllers: tuple[Interface, ...] = ()


class AzureResolved(RentalDetails):
    """A rental's details. `zones` are tried in order; empty: no zone in particular. `subnet` is
    the user's own; its machines get no public address."""

    region: str
    requested: AzureDiskRequest = Field(alias="wanted")
    size_gib: int
    machine: AzureMachine
    image: AzureImage
    os_type: str
    zones: tuple[str, ...]
    subnet: str | None
    ssh_cidr: str | None
    emulated: bool
    warnings: tuple[str, ...] = ()
    """Warnings for the user before renting."""
