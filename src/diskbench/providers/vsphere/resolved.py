"""The lookup's result before making anything: all that `acquire` needs, as JSON."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from diskbench.model.base import Frozen
from diskbench.providers.skeleton.cloud import RentalDetails
from diskbench.providers.vsphere.disk_request import VsphereDiskRequest


class VspherePlace(Frozen):
    """An inventory object: vSphere's id and its display name."""

    id: str
    name: str


class VsphereNetwork(Frozen):
    """A network of the machine. `switch` and `portgroup` are set for a distributed one."""

    id: str
    name: str
    kind: str
    switch: str | None = None
    portgroup: str | None = None


class Template(Frozen):
    """The template to clone. `buses` are the used SCSI bus numbers, `nvme_buses` those of NVMe;
    `size_bytes` is the full size of its disks."""

    id: str
    name: str
    guest: str | None = None
    hardware: str | None = None
    size_bytes: int = 0
    buses: tuple[int, ...] = ()
    nvme_buses: tuple[int, ...] = ()
    network_card: int | None = None


class Policy(Frozen):
    """A storage policy."""

    id: str
    name: str


class VsphereResolved(RentalDetails):
    """A rental's details."""

    server: str
    api: str
    datacenter: VspherePlace
    folder: VspherePlace
    compute: VspherePlace
    pool: VspherePlace
    host: VspherePlace | None
    datastore: VspherePlace
    policy: Policy | None = None
    network: VsphereNetwork | None = None
    template: Template
    requested: VsphereDiskRequest = Field(alias="wanted")
    free_bytes: int
    facts: dict[str, Any]
    emulated: bool
