"""Resolve a rental by calls that change nothing: account, image (the newest Ubuntu, else the newest
Amazon Linux), machine, zones and network access."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from diskbench.catalog.books import ProviderBook
from diskbench.errors import AccessDenied, DiskbenchError, UnknownName
from diskbench.model.options import RentSpec
from diskbench.providers.aws.client import Aws, AwsClient, AwsTiming
from diskbench.providers.aws.disk_request import (
    API,
    ROOT_TYPE,
    AwsDiskRequest,
    AwsImage,
    AwsMachine,
    AwsResolved,
    AwsZone,
)
from diskbench.providers.aws.errors import error_code, is_missing, refused
from diskbench.providers.aws.offer import alternatives, candidates, check_support, find_machine
from diskbench.providers.aws.requests import dry_launch, only
from diskbench.providers.networks import caller_cidr, ssh_cidr
from diskbench.providers.options import NetworkOptions
from diskbench.providers.skeleton.offer import checked_size, needs

Choice = tuple[AwsMachine, tuple[str, ...]]
"""A machine type, and the zones that offer it."""
MAX_FILTER_VALUES = 200
"""Values that EC2 takes in the filters of one call ("The maximum number of filter values specified
on a single call is 200", FilterLimitExceeded; gjbae1212/gossm issue 47, 2021-10-06)."""
LOCAL_ZONE_ROOT = "gp2"
"""The type of a root disk in a Local Zone: not every Local Zone has gp3; our choice."""


@dataclass(frozen=True)
class AwsLookup:
    """The request, and where to resolve it."""

    region: str
    ec2: AwsClient
    spec: RentSpec
    requested: AwsDiskRequest
    known: ProviderBook


def resolve_details(
    aws: Aws,
    spec: RentSpec,
    requested: AwsDiskRequest,
    known: ProviderBook,
    timing: AwsTiming,
    ask_caller: Callable[[], str] = caller_cidr,
) -> AwsResolved:
    """Everything that must be known before renting; the machine is chosen from `known`. Raises
    UserError."""
    ec2 = aws.edge("ec2", timing)
    here = AwsLookup(aws.region, ec2, spec, requested, known)
    account_id = aws.account_id(timing)
    if spec.kms_key is not None:
        # Where the caller may not look at the key, EC2 may still use it.
        with contextlib.suppress(AccessDenied):
            check_key(aws, spec.kms_key, timing)
    local_zone = spec.zone is not None and _zone(here, spec.zone).get("ZoneType") == "local-zone"
    _check_snapshot(here)
    typed = None
    if spec.instance_type:
        typed = find_machine(ec2, spec.instance_type, tuple(known.machines.types))
    arch = typed.arch if typed else "x86_64"
    image = find_image(ec2, aws.edge("ssm", timing), spec.image, arch)
    size_gib = _size_gib(requested, image)
    if typed is None:
        chosen = _cheapest(here, image, size_gib)
    else:
        chosen = ((typed, _offered(here, [typed.type])[typed.type]),)
    machine = chosen[0][0]
    if image.arch != machine.arch:
        raise refused("image of another architecture", image=image, machine=machine)
    check_support(machine, requested)
    places = _places(here, chosen)
    _check_group(here, places)
    if image.product is not None:
        # EC2 checks, without renting, that the account may use the image.
        try:
            ec2.call("run_instances", dry_launch(image.id, machine.type))
        except DiskbenchError as error:
            if error_code(error) == "OptInRequired":
                raise
            # DryRunOperation is the answer where it would succeed; others are reported later.
    local = machine.local if requested.kind == "instance-store" else None
    return AwsResolved(
        account_id=account_id,
        region=aws.region,
        requested=requested,
        size_gib=int(local.size_gb * 1e9 / 2**30) if local else size_gib,
        machine=machine,
        others=tuple(other for other, _ in chosen[1:]),
        image=image,
        root_type=LOCAL_ZONE_ROOT if local_zone else ROOT_TYPE,
        places=places,
        ssh_cidr=ssh_cidr(spec, aws.emulated_endpoint(), ask_caller),
        emulated=aws.emulated_endpoint() is not None,
    )


def _check_snapshot(here: AwsLookup) -> None:
    """Refuse a snapshot that no disk of that size can be made from. Raises InvalidValue."""
    name = here.spec.snapshot
    if name is None:
        return
    found = here.ec2.found("describe_snapshots", "Snapshots", {"SnapshotIds": [name]})
    if not found:
        raise refused("no such snapshot", name=name, here=here)
    state, least = str(found[0].get("State")), int(found[0]["VolumeSize"])
    if state != "completed":
        raise refused("snapshot not completed", name=name, state=state)
    if (here.requested.size_gib or 0) < least:
        raise refused("snapshot larger than the disk", here=here, name=name, least=least)


def check_key(aws: Aws, key: str, timing: AwsTiming) -> None:
    """Refuse a key that cannot encrypt a disk: EC2 would make the disk, and lose it without a
    reason. Raises InvalidValue, AccessDenied where the caller may not look at the key."""
    try:
        told = aws.edge("kms", timing).call("describe_key", {"KeyId": key})["KeyMetadata"]
    except DiskbenchError as error:
        if not is_missing(error):
            raise
        raise refused("no such key", key=key, aws=aws) from error
    state, spec = str(told.get("KeyState")), told.get("KeySpec", "SYMMETRIC_DEFAULT")
    if state != "Enabled":
        raise refused("key not enabled", key=key, state=state, aws=aws, told=told)
    if spec != "SYMMETRIC_DEFAULT":
        raise refused("key not symmetric", key=key, spec=spec)


def _size_gib(requested: AwsDiskRequest, image: AwsImage) -> int:
    """The size of the disk; for a root disk the image's size unless one is given."""
    if requested.kind == "instance-store":
        return 1
    size = checked_size(requested, image.id, image.root_gib)
    requested.limits(size)
    return size


def _cheapest(here: AwsLookup, image: AwsImage, size_gib: int) -> tuple[Choice, ...]:
    """The cheapest machine that sustains the disk and is offered, with its zones; after it, those
    to rent where no zone has capacity for it."""
    requested = here.requested
    need = needs(requested.limits(size_gib), requested.count)
    local = requested.count if requested.kind == "instance-store" else 0
    names = candidates(here.known, need, arch=image.arch, disks=requested.count, local_disks=local)
    if not names:
        raise refused("no machine for the disk", need=need, requested=requested, image=image)
    for start in range(0, len(names), MAX_FILTER_VALUES):
        some = names[start : start + MAX_FILTER_VALUES]
        offered = _offered(here, some)
        offered_names = [name for name in some if name in offered]
        if offered_names:
            chosen = (offered_names[0], *alternatives(here.known, offered_names))
            return tuple((find_machine(here.ec2, name, names), offered[name]) for name in chosen)
    raise refused("machines not offered", here=here, names=", ".join(names[:5]))


def _offered(here: AwsLookup, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The zones that offer each of the types. Raises InvalidValue when the only type is not
    offered, or not in the given zone."""
    request = {"LocationType": "availability-zone"} | only(instance_type=names)
    listed = here.ec2.listed("describe_instance_type_offerings", "InstanceTypeOfferings", request)
    zones: dict[str, list[str]] = {}
    for item in listed:
        zones.setdefault(item["InstanceType"], []).append(item["Location"])
    zone = here.spec.zone
    offered = {
        name: tuple(sorted(z for z in at if zone in {None, z})) for name, at in zones.items()
    }
    if len(names) == 1 and not offered.get(names[0]):
        where = ", ".join(sorted(zones.get(names[0], []))) or "no zone at all"
        raise refused(
            "type not offered", names=names, zone=zone or here.region, here=here, where=where
        )
    return {name: at for name, at in offered.items() if at}


def _places(here: AwsLookup, chosen: Sequence[Choice]) -> tuple[AwsZone, ...]:
    """The zones to try, in order: those that offer the machine and have a subnet, for each machine
    in turn."""
    subnets = _subnets(here)
    machine, zones = chosen[0]
    # A default subnet has internet access; a subnet of the user may be reachable by other means.
    public = None if here.spec.subnet else True
    places = [
        AwsZone(
            zone=subnet["AvailabilityZone"],
            zone_id=subnet.get("AvailabilityZoneId"),
            subnet=subnet["SubnetId"],
            vpc=subnet["VpcId"],
            public=False if NetworkOptions.of(here.spec).no_public_ip else public,
            machine=None if other is machine else other.type,
        )
        for other, offered in chosen
        for subnet in sorted(subnets, key=lambda subnet: str(subnet["AvailabilityZone"]))
        if subnet["AvailabilityZone"] in offered
    ]
    if places and places[0].machine is None:
        return tuple(places)
    if typed := here.spec.subnet:
        known = ", ".join(sorted({subnet["AvailabilityZone"] for subnet in subnets}))
        near = ", ".join(zones)
        raise refused(
            "subnet without the machine", typed=typed, known=known, machine=machine, zones=near
        )
    raise refused("no default subnet", zones=", ".join(zones))


def _subnets(here: AwsLookup) -> list[dict[str, Any]]:
    """The user's subnet, or the default ones. Raises InvalidValue for a subnet in which no machine
    of diskbench can be reached."""
    typed = here.spec.subnet
    request = {"SubnetIds": [typed]} if typed else only(default_for_az=["true"])
    subnets = here.ec2.listed("describe_subnets", "Subnets", request)
    for subnet in subnets if typed else ():
        if subnet.get("Ipv6Native"):
            raise refused("subnet with IPv6 only", typed=typed)
        if subnet.get("OutpostArn"):
            raise refused("subnet on an Outpost", typed=typed)
    return [subnet for subnet in subnets if not subnet.get("Ipv6Native")]


def _zone(here: AwsLookup, zone: str) -> dict[str, Any]:
    """The zone as EC2 describes it. Raises UnknownName, or InvalidValue where the account has not
    opted in to it."""
    listed = here.ec2.call("describe_availability_zones", {"AllAvailabilityZones": True})
    items = {item["ZoneName"]: item for item in listed["AvailabilityZones"]}
    ready = [name for name, item in items.items() if item.get("OptInStatus") != "not-opted-in"]
    if zone in ready:
        return dict(items[zone])
    if zone in items:
        raise refused(
            "zone not opted in to", zone=zone, group_name=items[zone].get("GroupName", zone[:-1])
        )
    raise UnknownName(f"zone of {here.region}", zone, ready, field="zone")


def _check_group(here: AwsLookup, places: Sequence[AwsZone]) -> None:
    group = here.spec.security_group
    if group is None:
        return
    groups = here.ec2.listed("describe_security_groups", "SecurityGroups", {"GroupIds": [group]})
    vpc = groups[0]["VpcId"] if groups else None
    if vpc != places[0].vpc:
        raise refused("group of another VPC", group=group, vpc=vpc, places=places)


_PARAMETERS, _USERS = API["images"], API["users"]
_DEFAULT_USER = "ec2-user"
_NAMED_USERS = {"ubuntu": "ubuntu"}
"""The user of images that were found by their SSM parameter: their owner differs by partition."""


def find_image(ec2: AwsClient, ssm: AwsClient, typed: str | None, arch: str) -> AwsImage:
    """The image of `--image`: an AMI, an SSM parameter, `ubuntu` or `amazon-linux`; without the
    option, the first of these two that the region offers. Raises InvalidValue."""
    if typed is not None:
        if typed.startswith("ami-"):
            return _image(ec2, typed)
        if typed.startswith("/"):
            return _image(ec2, _parameter(ssm, typed))
        if typed in _PARAMETERS:
            return _image_of_parameter(ec2, ssm, typed, arch)
        raise refused("no form of an image", typed=typed)
    for name in _PARAMETERS:
        try:
            return _image_of_parameter(ec2, ssm, name, arch)
        except DiskbenchError as error:
            if error_code(error) != "ParameterNotFound":
                raise
    tried = ", ".join(parameters[arch] for parameters in _PARAMETERS.values())
    raise refused("no image named", tried=tried)


def _image_of_parameter(ec2: AwsClient, ssm: AwsClient, name: str, arch: str) -> AwsImage:
    image = _image(ec2, _parameter(ssm, _PARAMETERS[name][arch]))
    return image.model_copy(update={"user": _NAMED_USERS.get(name, image.user)})


def _parameter(ssm: AwsClient, name: str) -> str:
    return str(ssm.call("get_parameter", {"Name": name})["Parameter"]["Value"])


def _image(ec2: AwsClient, image_id: str) -> AwsImage:
    images = ec2.listed("describe_images", "Images", {"ImageIds": [image_id]})
    if not images:
        raise refused("no such image", image_id=image_id)
    image: dict[str, Any] = images[0]
    if image.get("RootDeviceType") != "ebs":
        root = image.get("RootDeviceType")
        raise refused("image without EBS", image_id=image_id, root=root)
    root, codes = str(image["RootDeviceName"]), image.get("ProductCodes", [])
    mapped = image.get("BlockDeviceMappings", [])
    disk: dict[str, Any] = next((m["Ebs"] for m in mapped if m.get("DeviceName") == root), {})
    sold = [str(c["ProductCodeId"]) for c in codes if c.get("ProductCodeType") == "marketplace"]
    return AwsImage(
        id=image_id,
        name=str(image.get("Name", "")),
        arch=str(image.get("Architecture", "x86_64")),
        root_device=root,
        root_gib=int(disk.get("VolumeSize", 8)),
        product=sold[0] if sold else None,
        user=_USERS.get(str(image.get("OwnerId")), _DEFAULT_USER),
    )
