"""Resolve a rental by read-only calls: account, image, machine, zones and network access."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diskbench.errors import InvalidValue, UnknownName
from diskbench.providers.aws.choice import candidates
from diskbench.providers.aws.images import find_image
from diskbench.providers.aws.machine_type import check_support, find_machine
from diskbench.providers.aws.resolved import AwsResolved, AwsZone
from diskbench.providers.caller import caller_cidr, ssh_cidr
from diskbench.providers.needs import needs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from diskbench.catalog.books import ProviderBook
    from diskbench.model.rental import RentSpec
    from diskbench.providers.aws.client import Aws, AwsClient
    from diskbench.providers.aws.disk_request import AwsDiskRequest
    from diskbench.providers.aws.resolved import AwsImage, AwsMachine
    from diskbench.providers.aws.timing import AwsTiming


@dataclass(frozen=True)
class AwsLookup:
    """The request, and where to resolve it."""

    aws: Aws
    ec2: AwsClient
    ssm: AwsClient
    spec: RentSpec
    wanted: AwsDiskRequest
    known: ProviderBook


def look_up(
    aws: Aws,
    spec: RentSpec,
    wanted: AwsDiskRequest,
    known: ProviderBook,
    timing: AwsTiming,
    ask_caller: Callable[[], str] = caller_cidr,
) -> AwsResolved:
    """Everything that must be known before renting; the machine is chosen from `known`. Raises
    UserError."""
    here = AwsLookup(aws, aws.edge("ec2", timing), aws.edge("ssm", timing), spec, wanted, known)
    account_id = aws.account_id(timing)
    if spec.zone is not None:
        _check_zone(here, spec.zone)
    typed = _typed_machine(here)
    image = find_image(here.ec2, here.ssm, spec.image, typed.arch if typed else "x86_64")
    size_gib = _size_gib(wanted, image)
    if typed is None:
        machine, zones = _cheapest(here, image, size_gib)
    else:
        machine, zones = typed, _offered(here, [typed.type])[typed.type]
    _check_pair(image, machine)
    check_support(machine, wanted)
    places = _places(here, machine, zones)
    _check_group(here, places)
    local = machine.local if wanted.kind == "instance-store" else None
    return AwsResolved(
        account_id=account_id,
        region=aws.region,
        wanted=wanted,
        size_gib=int(local.size_gb * 1e9 / 2**30) if local else size_gib,
        machine=machine,
        image=image,
        places=places,
        ssh_cidr=ssh_cidr(spec, aws.emulated_endpoint(), ask_caller),
        emulated=aws.emulated_endpoint() is not None,
    )


def _typed_machine(here: AwsLookup) -> AwsMachine | None:
    name = here.spec.instance_type
    return find_machine(here.ec2, name, tuple(here.known.machines.types)) if name else None


def _size_gib(wanted: AwsDiskRequest, image: AwsImage) -> int:
    """The size of the disk; for a root disk the image's size unless one is given."""
    if wanted.kind == "instance-store":
        return 1
    size = wanted.size_gib or image.root_gib
    if wanted.kind == "root" and size < image.root_gib:
        raise InvalidValue(
            f"a root disk of {size} GiB is smaller than its image",
            advice=f"{image.id} needs {image.root_gib} GiB or more",
        )
    wanted.limits(size)
    return size


def _cheapest(
    here: AwsLookup, image: AwsImage, size_gib: int
) -> tuple[AwsMachine, tuple[str, ...]]:
    """The cheapest machine that sustains the disk and is offered, with its zones."""
    wanted = here.wanted
    need = needs(wanted.limits(size_gib), wanted.count)
    local = wanted.count if wanted.kind == "instance-store" else 0
    names = candidates(here.known, need, arch=image.arch, disks=wanted.count, local_disks=local)
    if not names:
        raise InvalidValue(
            f"no machine in the catalogue sustains {need.iops:,.0f} IOPS and "
            f"{need.mb_per_s:,.0f} MB/s to {wanted.count} disks ({image.arch})",
            advice="choose one with --instance-type: its limit is measured then",
        )
    offered = _offered(here, names)
    for name in names:
        if name in offered:
            return find_machine(here.ec2, name, names), offered[name]
    raise InvalidValue(
        f"{here.aws.region} offers none of {', '.join(names[:5])}",
        advice="choose one with --instance-type, or another --region",
    )


def _offered(here: AwsLookup, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The zones that offer each of the types. Raises InvalidValue when the only type is not
    offered, or not in the given zone."""
    listed = here.ec2.listed(
        "describe_instance_type_offerings",
        "InstanceTypeOfferings",
        {
            "LocationType": "availability-zone",
            "Filters": [{"Name": "instance-type", "Values": list(names)}],
        },
    )
    zones: dict[str, list[str]] = {}
    for item in listed:
        zones.setdefault(item["InstanceType"], []).append(item["Location"])
    wanted = here.spec.zone
    found = {
        name: tuple(sorted(z for z in at if wanted in {None, z})) for name, at in zones.items()
    }
    if len(names) == 1 and not found.get(names[0]):
        where = ", ".join(sorted(zones.get(names[0], []))) or "no zone at all"
        raise InvalidValue(
            f"{names[0]} is not offered in {wanted or here.aws.region}",
            advice=f"in {here.aws.region} it is offered in {where}",
        )
    return {name: at for name, at in found.items() if at}


def _check_pair(image: AwsImage, machine: AwsMachine) -> None:
    if image.arch != machine.arch:
        raise InvalidValue(
            f"{image.id} is for {image.arch}, {machine.type} is {machine.arch}",
            advice="choose --image and --instance-type of one architecture",
        )


def _places(here: AwsLookup, machine: AwsMachine, zones: Sequence[str]) -> tuple[AwsZone, ...]:
    """The zones to try, in order: those that offer the machine and have a subnet."""
    typed = here.spec.subnet
    request: dict[str, Any] = (
        {"SubnetIds": [typed]}
        if typed
        else {"Filters": [{"Name": "default-for-az", "Values": ["true"]}]}
    )
    subnets = here.ec2.listed("describe_subnets", "Subnets", request)
    known = {subnet["AvailabilityZone"] for subnet in subnets}
    found = [
        AwsZone(
            zone=subnet["AvailabilityZone"],
            zone_id=subnet.get("AvailabilityZoneId"),
            subnet=subnet["SubnetId"],
            vpc=subnet["VpcId"],
            # A default subnet has internet access; a subnet of the user may be reachable by other
            # means.
            public=None if typed else True,
        )
        for subnet in subnets
        if subnet["AvailabilityZone"] in zones
    ]
    if found:
        return tuple(sorted(found, key=lambda place: place.zone))
    if typed:
        raise InvalidValue(
            f"--subnet {typed} is in {', '.join(sorted(known))}, where {machine.type} is not",
            advice=f"{machine.type} is offered in {', '.join(zones)}",
            field="subnet",
        )
    raise InvalidValue(
        f"there is no default subnet in {', '.join(zones)}",
        advice="give one with --subnet, or: aws ec2 create-default-subnet --availability-zone ZONE",
    )


def _check_zone(here: AwsLookup, zone: str) -> None:
    listed = here.ec2.call("describe_availability_zones")["AvailabilityZones"]
    names = [item["ZoneName"] for item in listed]
    if zone not in names:
        raise UnknownName(f"zone of {here.aws.region}", zone, names, field="zone")


def _check_group(here: AwsLookup, places: Sequence[AwsZone]) -> None:
    group = here.spec.security_group
    if group is None:
        return
    found = here.ec2.listed("describe_security_groups", "SecurityGroups", {"GroupIds": [group]})
    vpc = found[0]["VpcId"] if found else None
    if vpc != places[0].vpc:
        raise InvalidValue(
            f"--security-group {group} is in {vpc}, the subnet in {places[0].vpc}",
            advice="use a group and a --subnet of one VPC",
            field="security_group",
        )
