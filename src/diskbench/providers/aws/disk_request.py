"""The disk that a cell requests from AWS, refused before any call where AWS does not sell it; and
the lookup's result before renting, all that `acquire` needs, as JSON. Pure."""

import re
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field

from diskbench.catalog.lookup import DiskLimits, disk_types, limits
from diskbench.catalog.machine_book import LocalDisks
from diskbench.errors import UnknownName, check_known
from diskbench.model.base import Frozen
from diskbench.model.options import RentSpec
from diskbench.providers import asked
from diskbench.providers.aws.errors import refused
from diskbench.providers.aws.plugin import PLUGIN, AwsOptions
from diskbench.providers.options import NetworkOptions
from diskbench.providers.skeleton.offer import RentalDetails, SizedDisk
from diskbench.providers.skeleton.shipped import read_forms
from diskbench.yaml_lines import packaged

API = packaged("diskbench.providers.aws", "api.yaml")
REGION = r"[a-z]+(?:-[a-z]+)+-\d+"
"""The form of a region's name: `eu-central-1`, `us-gov-west-1`, `eusc-de-east-1`."""
_IN_ZONE = re.compile(rf"({REGION})(?:[a-z]|-[a-z0-9-]+)")


def region_of(zone: str) -> str | None:
    """The region in a zone's name: `us-east-1` of `us-east-1a`, of the Local Zone
    `us-east-1-bos-1a` and of the Wavelength Zone `us-east-1-wl1-bos-wlz-1`; None for a name of
    another form."""
    match = _IN_ZONE.fullmatch(zone)
    return match[1] if match else None


INSTANCE_STORE = "instance-store"
ROOT = "root"
ROOT_TYPE = "gp3"
"""The root disk's type where the user gives none; our choice."""
MAX_COUNT = 21
"""/dev/sdf to /dev/sdz: the names that AWS reserves for EBS volumes (User Guide,
device_naming.md, 2023)."""
_FORMS = read_forms("diskbench.providers.aws")

Kind = Literal["volume", "root", "instance-store"]


class AwsDiskRequest(SizedDisk):
    """The requested disk. `size_gib` is None where the user chooses no size: a local disk, or a
    root disk as large as its image. `type` is the volume type, of a root disk too."""

    kind: Kind

    def limits(self, size_gib: int) -> DiskLimits | None:
        if self.kind == "instance-store":
            return None
        return limits("aws", self.type, size_gib, self.iops, self.throughput_mib_per_s)


def disk_request(spec: RentSpec | None) -> AwsDiskRequest:
    """The disk requested by a spec. Raises InvalidValue or UnknownName with the allowed values."""
    spec, disk = asked.with_disk(spec, PLUGIN, example="--disk gp3 --size 100")
    _check_form(spec)
    asked.check_count(spec, MAX_COUNT)
    _check_snapshot(spec, disk)
    if disk == INSTANCE_STORE:
        _FORMS.refuse(spec, INSTANCE_STORE)
        return AwsDiskRequest(kind="instance-store", type=INSTANCE_STORE, count=spec.count)
    root, _, root_type = disk.partition(":")
    volumes = [name for name in disk_types("aws") if name != INSTANCE_STORE]
    if root == ROOT:
        asked.check_one_root(spec)
        check_known("type of a root disk", root_type or None, volumes, field="disk")
        if root_type in {"st1", "sc1"}:
            raise refused("no disk to start from", root_type=root_type)
        return _of(spec, "root", root_type or ROOT_TYPE)
    if disk not in volumes:
        raise UnknownName("AWS disk type", disk, [*volumes, ROOT, INSTANCE_STORE], field="disk")
    asked.size_asked(spec)
    return _of(spec, "volume", disk)


def _of(spec: RentSpec, kind: Kind, disk_type: str) -> AwsDiskRequest:
    requested = AwsDiskRequest(
        kind=kind, type=disk_type, size_gib=spec.size_gib, iops=spec.iops,
        throughput_mib_per_s=asked.whole_throughput(spec, "MiB/s"), count=spec.count,
    )  # fmt: skip
    if spec.size_gib is not None:
        requested.limits(spec.size_gib)
    return requested


INITIALIZATION = range(100, 301)
"""MiB/s (botocore 1.44.8, CreateVolumeRequest, VolumeInitializationRate)."""


def _check_snapshot(spec: RentSpec, disk: str) -> None:
    options, typed = AwsOptions.of(spec), asked.snapshot_option(spec)
    rate = options.initialization_rate
    if rate is not None and typed is None:
        raise refused("rate without a snapshot", rate=rate)
    if rate is not None and rate not in INITIALIZATION:
        raise refused("rate not sold", rate=rate)
    if options.fast_snapshot_restore and (rate is not None or not spec.snapshot_of_fill):
        raise refused("fast restore of a snapshot of others")
    if typed is None:
        return
    if disk.partition(":")[0] in {ROOT, INSTANCE_STORE}:
        raise refused("snapshot of a disk of the machine", typed=typed, disk=disk)
    if spec.stripe:
        raise refused("stripe over a snapshot", typed=typed)


def _check_form(spec: RentSpec) -> None:
    """Refuse what has not AWS's form, and --no-public-ip where the machine could not be reached, or
    could not load packages."""
    _FORMS.check(spec, "AWS")
    if spec.region is not None and not re.fullmatch(REGION, spec.region):
        raise refused("form of a region", spec=spec)
    if spec.zone is not None:
        region = region_of(spec.zone)
        if region is None:
            raise refused("form of a zone", spec=spec)
        if "-wlz-" in spec.zone:
            raise refused("Wavelength Zone", spec=spec, region=region)
        if spec.region not in {None, region}:
            raise refused("zone of another region", spec=spec)
    asked.check_ssh(spec, "your group is")
    if NetworkOptions.of(spec).no_public_ip:
        if spec.subnet is None:
            raise refused("no public address without a subnet")
        if spec.ssh_cidr is None and spec.security_group is None:
            raise refused("no public address without a network of SSH")
    asked.check_endpoint(spec, "signed calls and keys")


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


class EbsFigures(Frozen):
    """The EBS limits of a machine: the sustained ones, and the maxima for half an hour a day; None
    where AWS publishes no figure."""

    baseline_iops: float | None = None
    baseline_mb_per_s: float | None = None
    max_iops: float | None = None
    max_mb_per_s: float | None = None


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
    local: LocalDisks | None = None


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

    def at(self, place: AwsZone) -> Self:
        """The same with the machine type that is rented in `place`."""
        others = (other for other in self.others if other.type == place.machine)
        return self.model_copy(update={"machine": next(others, self.machine)})

    def place_of(self, instance: Mapping[str, Any]) -> AwsZone | None:
        """The place of an instance, by its zone and type; None where none fits."""
        zone, machine = instance["Placement"]["AvailabilityZone"], instance.get("InstanceType")
        for place in self.places:
            if place.zone == zone and machine in {None, place.machine or self.machine.type}:
                return place
        return None
