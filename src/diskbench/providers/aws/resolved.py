"""The lookup's result before renting: all that `acquire` needs, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field

from diskbench.model.base import Frozen
from diskbench.providers.aws.choice import EbsFigures
from diskbench.providers.aws.disk_request import ROOT_TYPE, AwsDiskRequest
from diskbench.providers.skeleton.cloud import RentalDetails


class AwsZone(Frozen):
    """A zone to try; its id is the same in all accounts, its name is not. `public` requests a
    public address, False none; None lets the subnet decide. `machine` is the type to rent there
    where it is not the first choice."""

    zone: str
    zone_id: str | None = None
    subnet: str
    vpc: str
    public: bool | None = None
    machine: str | None = None

    @property
    def name(self) -> str:
        """The zone for messages, with the machine type where it is not the first choice."""
        return f"{self.zone} ({self.machine})" if self.machine else self.zone


class AwsLocalDisks(Frozen):
    """The machine's local disks; `size_gb` is in units of 10^9 bytes."""

    count: int
    size_gb: int
    nvme: bool


class AwsMachine(Frozen):
    """A machine type as EC2 describes it. `ebs_nvme` says how its volumes appear in the guest.
    `ebs` are the limits of the EBS card to which volumes are attached (the first); `ebs_cards` is
    how many the machine has."""

    type: str
    arch: str
    vcpus: int
    memory_bytes: int
    hypervisor: str
    ebs_nvme: bool
    ebs_optimized: Literal["default", "supported", "unsupported"]
    ebs: EbsFigures
    ebs_cards: int = 1
    bare_metal: bool = False
    max_disks: int | None = None
    disks_apart: bool = False
    burstable: bool = False
    local: AwsLocalDisks | None = None


class AwsImage(Frozen):
    """The machine's image and its login user; `product` is the AWS Marketplace product that the
    account must have subscribed to."""

    id: str
    name: str
    arch: str
    root_device: str
    root_gib: int
    user: str
    product: str | None = None


class AwsResolved(RentalDetails):
    """A rental's details. `others` are the machine types to rent where no zone has capacity for
    `machine`; each stands in some of `places`. `root_type` is the type of a root disk that is not
    measured."""

    account_id: str
    region: str
    requested: AwsDiskRequest = Field(alias="wanted")
    size_gib: int
    machine: AwsMachine
    others: tuple[AwsMachine, ...] = ()
    image: AwsImage
    root_type: str = ROOT_TYPE
    places: tuple[AwsZone, ...]
    ssh_cidr: str | None
    emulated: bool

    def at(self, place: AwsZone) -> Self:
        """The same with the machine type that is rented in `place`."""
        machine = next(
            (other for other in self.others if other.type == place.machine), self.machine
        )
        return self.model_copy(update={"machine": machine})

    def place_of(self, instance: Mapping[str, Any]) -> AwsZone | None:
        """The place of an instance, by its zone and type; None where none fits."""
        zone, machine = instance["Placement"]["AvailabilityZone"], instance.get("InstanceType")
        for place in self.places:
            if place.zone == zone and machine in {None, place.machine or self.machine.type}:
                return place
        return None
