"""The lookup's result before renting: all that `acquire` needs, as JSON."""

from __future__ import annotations

from typing import Literal

from diskbench.model.base import Frozen
from diskbench.providers.aws.choice import EbsFigures
from diskbench.providers.aws.disk_request import AwsDiskRequest


class AwsZone(Frozen):
    """A zone to try; its id is the same in all accounts, its name is not. `public` requests a
    public address; None lets the subnet decide."""

    zone: str
    zone_id: str | None = None
    subnet: str
    vpc: str
    public: bool | None = None


class AwsLocalDisks(Frozen):
    """The machine's local disks; `size_gb` is in units of 10^9 bytes."""

    count: int
    size_gb: int
    nvme: bool


class AwsMachine(Frozen):
    """A machine type as EC2 describes it. `ebs_nvme` says how its volumes appear in the guest."""

    type: str
    arch: str
    vcpus: int
    memory_bytes: int
    hypervisor: str
    ebs_nvme: bool
    ebs_optimized: Literal["default", "supported", "unsupported"]
    ebs: EbsFigures
    max_disks: int | None = None
    disks_apart: bool = False
    burstable: bool = False
    local: AwsLocalDisks | None = None


class AwsImage(Frozen):
    """The machine's image and its login user."""

    id: str
    name: str
    arch: str
    root_device: str
    root_gib: int
    user: str


class AwsResolved(Frozen):
    """A rental's details."""

    account_id: str
    region: str
    wanted: AwsDiskRequest
    size_gib: int
    machine: AwsMachine
    image: AwsImage
    places: tuple[AwsZone, ...]
    ssh_cidr: str | None
    emulated: bool
