"""Renting: key, group, machine and volumes, each looked up by its lease before it is made."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, NoCapacity, RentalFailed
from diskbench.model.disk import DiskSpec
from diskbench.model.ours import Which
from diskbench.providers.aws import requests
from diskbench.providers.aws.disk_request import ROOT_TYPE
from diskbench.providers.aws.errors import error_code, is_missing, of_code
from diskbench.providers.aws.inventory import ENDING, inventory, tag, why_ended
from diskbench.providers.aws.resolved import AwsResolved, AwsZone
from diskbench.providers.aws.timing import AwsTiming
from diskbench.providers.cloud_init import user_data
from diskbench.providers.emulation import EmulationOptions
from diskbench.providers.skeleton import order as skeleton
from diskbench.providers.skeleton.zones import in_first_with_capacity, zones_from
from diskbench.providers.waits import Still

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from diskbench.providers.aws.client import AwsClient
    from diskbench.providers.aws.inventory import AwsInventory, Item


@dataclass(frozen=True, kw_only=True)
class AwsOrder(skeleton.Order[AwsResolved, AwsTiming]):
    """The AWS resources to make; `ec2` is the API in one region."""

    ec2: AwsClient

    @property
    def lab(self) -> str:
        """The configuration of an emulated cloud; empty for the real one."""
        return requests.lab_tag(EmulationOptions.of(self.spec)) if self.details.emulated else ""

    @property
    def bare_metal(self) -> bool:
        """See skeleton.Order; EC2's names of bare metal are `m5.metal`, `c7i.metal-24xl`."""
        return ".metal" in self.details.machine.type

    @property
    def volume(self) -> DiskSpec | None:
        """The volumes to make; None where the machine's local disks are measured."""
        wanted = self.details.wanted
        return wanted.spec(self.details.size_gib) if wanted.kind == "volume" else None

    @property
    def root(self) -> DiskSpec:
        """The root disk: as requested where it is measured, else as large as its image."""
        wanted = self.details.wanted
        if wanted.kind == "root":
            return wanted.spec(self.details.size_gib)
        return DiskSpec(type=ROOT_TYPE, size_gib=self.details.image.root_gib)


@dataclass(frozen=True)
class AwsProvisioned:
    """A running machine, and its volumes in the same zone, in order."""

    instance: Item
    volumes: tuple[Item, ...]
    place: AwsZone


def provision(order: AwsOrder) -> AwsProvisioned:
    """The machine and volumes of the lease, made or found; zones are tried in turn.

    Raises NoCapacity when every zone lacks capacity, RentalFailed with EC2's reason for a
    machine that ended.
    """
    listing = inventory(order.ec2, Which(order.lease))
    _key_pair(order, listing)
    group = order.spec.security_group or _security_group(order, listing)
    held = listing.live[0]["Placement"]["AvailabilityZone"] if listing.live else None
    places = order.details.places
    return in_first_with_capacity(
        zones_from(places, next((place for place in places if place.zone == held), None)),
        lambda place: _in_zone(order, group, place),
        lambda: _undo(order),
        order.watch,
        region=order.details.region,
        name=lambda place: place.zone,
    )


def _key_pair(order: AwsOrder, there: AwsInventory) -> None:
    if there.keys:
        return
    request = requests.import_key_pair(order.claim, order.keys.user_public)
    with _made_before("InvalidKeyPair.Duplicate"):
        order.ec2.call("import_key_pair", request)


def _security_group(order: AwsOrder, there: AwsInventory) -> str:
    """The lease's own group, open to one network."""
    group = str(there.groups[0]["GroupId"]) if there.groups else _new_group(order)
    cidr = order.details.ssh_cidr
    assert cidr is not None, "resolve refuses a rental without a group and without a network"
    with _made_before("InvalidPermission.Duplicate"):
        order.until(
            lambda: _when_listed(
                order, "authorize_security_group_ingress", requests.allow_ssh(group, cidr)
            ),
            f"security-group {group}",
            order.timing.volume_s,
        )
    return group


def _new_group(order: AwsOrder) -> str:
    """The id of the lease's security group, made now or by an earlier call whose answer was
    lost."""
    vpc = order.details.places[0].vpc
    request = requests.create_security_group(order.claim, vpc)
    try:
        return str(order.ec2.call("create_security_group", request)["GroupId"])
    except DiskbenchError as error:
        if error_code(error) != "InvalidGroup.Duplicate":
            raise
    named = {"group-name": request["GroupName"], "vpc-id": vpc}
    filters = [{"Name": name, "Values": [value]} for name, value in named.items()]

    def ask() -> str | Still:
        found = order.ec2.listed("describe_security_groups", "SecurityGroups", {"Filters": filters})
        return str(found[0]["GroupId"]) if found else Still("not listed yet")

    what = f"security-group {request['GroupName']}"
    return order.until(ask, what, order.timing.volume_s)


def _when_listed(order: AwsOrder, operation: str, request: requests.Request) -> bool | Still:
    """Call an operation on a new resource; Still while EC2, which is eventually consistent, does
    not list the resource."""
    try:
        order.ec2.call(operation, request)
    except DiskbenchError as error:
        if is_missing(error):
            return Still("not listed yet")
        raise
    return True


@contextlib.contextmanager
def _made_before(code: str) -> Iterator[None]:
    """Treat EC2's error that the resource exists already as success."""
    try:
        yield
    except DiskbenchError as error:
        if error_code(error) != code:
            raise


def _in_zone(order: AwsOrder, group: str, place: AwsZone) -> AwsProvisioned:
    """Machine and volumes in one zone, running and available. Raises NoCapacity."""
    listing = inventory(order.ec2, Which(order.lease))
    live = [i for i in listing.live if i["Placement"]["AvailabilityZone"] == place.zone]
    instance = live[0] if live else _launch(order, group, place, len(listing.ended))
    instance_id = str(instance["InstanceId"])
    ids = [
        _volume(order, listing, disk, place, index)
        for disk in ([order.volume] if order.volume else [])
        for index in range(disk.count)
    ]
    running = order.until(
        lambda: _running(order.ec2, instance_id),
        f"instance {instance_id}",
        order.timing.instance_s,
    )
    return AwsProvisioned(running, _when_available(order, ids), place)


def next_volumes(order: AwsOrder, there: AwsInventory, place: AwsZone) -> tuple[Item, ...]:
    """Make or find the volumes of this turn for a machine that runs in `place`."""
    disk = order.volume
    assert disk is not None, "check_swap refuses disks that come with the machine"
    return _when_available(
        order, [_volume(order, there, disk, place, index) for index in range(disk.count)]
    )


def _when_available(order: AwsOrder, ids: Sequence[str]) -> tuple[Item, ...]:
    return tuple(
        order.until(
            partial(_available, order.ec2, volume_id), f"volume {volume_id}", order.timing.volume_s
        )
        for volume_id in ids
    )


def _launch(order: AwsOrder, group: str, place: AwsZone, generation: int) -> Item:
    request = launch_request(order, group, place, generation)
    made: Item = order.ec2.call("run_instances", request)["Instances"][0]
    order.watch.note(
        f"instance {made['InstanceId']} is starting: {order.details.machine.type} in {place.zone}"
    )
    return made


def launch_request(
    order: AwsOrder, group: str, place: AwsZone, generation: int = 0
) -> requests.Request:
    """The request that launches the lease's machine in one zone."""
    details, spec = order.details, order.spec
    guest = order.guest(details.image.user, packages=("fio", "mdadm") if spec.stripe else ("fio",))
    launch = requests.AwsLaunch(
        image=details.image.id,
        instance_type=details.machine.type,
        subnet=place.subnet,
        group=group,
        user_data=user_data(guest),
        root_device=details.image.root_device,
        root=requests.root_disk(order.root),
        public=place.public,
        # Where it is the default, requesting it changes nothing; where it is not offered, the
        # request fails.
        ebs_optimized=True if details.machine.ebs_optimized != "unsupported" else None,
        spot=spec.spot,
        placement=spec.placement,
        lab=order.lab,
    )
    return requests.run_instances(order.claim, launch, generation)


def _volume(
    order: AwsOrder, there: AwsInventory, disk: DiskSpec, place: AwsZone, index: int
) -> str:
    """Make or find the disk number `index` in this zone; returns its id."""
    name = disk_name(order, index)
    for item in there.volumes:
        if tag(item, "Name") == name and item["AvailabilityZone"] == place.zone:
            return str(item["VolumeId"])
    request = requests.create_volume(order.claim, disk, place.zone, index, order.lab)
    made = order.ec2.call("create_volume", request)
    order.watch.note(f"volume {made['VolumeId']} is being made: {disk.type}, {disk.size_gib} GiB")
    return str(made["VolumeId"])


def disk_name(order: AwsOrder, index: int) -> str:
    """The name of the disk number `index` of this turn."""
    return requests.name_of(order.lease, requests.disk_kind(index, order.claim.turn))


def _running(ec2: AwsClient, instance_id: str) -> Item | Still:
    instance = describe_instance(ec2, instance_id)
    if instance is None:
        return Still("not listed yet")
    state = instance["State"]["Name"]
    if state == "running":
        return instance
    if state == "pending":
        return Still(state)
    raise ended(instance)


def describe_instance(ec2: AwsClient, instance_id: str) -> Item | None:
    """One instance as EC2 describes it; None while it is not listed yet or no longer listed."""
    try:
        held = ec2.listed("describe_instances", "Reservations", {"InstanceIds": [instance_id]})
    except DiskbenchError as error:
        if is_missing(error):
            return None
        raise
    found: list[Item] = [item for reservation in held for item in reservation["Instances"]]
    return found[0] if found else None


def ended(instance: Item) -> DiskbenchError:
    """The error for an instance that ended, by EC2's reason; capacity and quota have classes of
    their own."""
    state, why = instance["State"]["Name"], why_ended(instance)
    code = str((instance.get("StateReason") or {}).get("Code") or "").rpartition(".")[2]
    error = of_code(code, why, "ec2:RunInstances") if code else None
    if error is not None and (isinstance(error, NoCapacity) or code.endswith("LimitExceeded")):
        return error
    return RentalFailed(
        f"instance {instance['InstanceId']} is {state}: {why}",
        advice="somebody or something ended it; start a new run"
        if instance["State"]["Name"] in ENDING
        else "start a new run",
    )


def describe_volume(ec2: AwsClient, volume_id: str) -> Item | None:
    """One volume as EC2 describes it; None while it is not listed yet or no longer listed."""
    try:
        found = ec2.listed("describe_volumes", "Volumes", {"VolumeIds": [volume_id]})
    except DiskbenchError as error:
        if is_missing(error):
            return None
        raise
    return found[0] if found else None


def _available(ec2: AwsClient, volume_id: str) -> Item | Still:
    volume = describe_volume(ec2, volume_id)
    if volume is None:
        return Still("not listed yet")
    state = volume["State"]
    if state in {"available", "in-use"}:
        return volume
    if state == "creating":
        return Still(state)
    raise RentalFailed(
        f"volume {volume_id} is {state} in place of available",
        advice="AWS gives no reason for that; an encryption key that may not be used is the usual",
    )


def _undo(order: AwsOrder) -> None:
    """Delete what was made in a zone without capacity; a failed deletion is left to the release."""
    listing = inventory(order.ec2, Which(order.lease))
    for instance in listing.live:
        with contextlib.suppress(DiskbenchError):
            order.ec2.call("terminate_instances", {"InstanceIds": [instance["InstanceId"]]})
    for volume in listing.volumes:
        if volume["State"] == "available":
            with contextlib.suppress(DiskbenchError):
                order.ec2.call("delete_volume", {"VolumeId": volume["VolumeId"]})
