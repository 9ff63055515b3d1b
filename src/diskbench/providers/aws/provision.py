"""Renting: key, group, machine and volumes, each looked up by its lease before it is made."""

import contextlib
from collections.abc import Sequence
from functools import partial

from diskbench.errors import DiskbenchError
from diskbench.model.rental import Which
from diskbench.providers.aws import leases, requests
from diskbench.providers.aws.client import AwsClient
from diskbench.providers.aws.disk_request import AwsZone
from diskbench.providers.aws.errors import error_code, is_missing, of_state, refused
from diskbench.providers.aws.leases import Item
from diskbench.providers.aws.requests import AwsOrder
from diskbench.providers.skeleton.leases import Listed
from diskbench.providers.skeleton.provision import Provisioned, in_first_with_capacity, zones_from
from diskbench.providers.waits import Still

Made = tuple[str, requests.Request]
"""The call that deletes a resource, and its request."""
NEW_THINGS = frozenset({"InvalidKeyPair.NotFound", "InvalidGroup.NotFound"})
"""EC2's codes where a launch names a key pair or group that was made a moment ago."""


def provision(order: AwsOrder) -> Provisioned:
    """The machine and volumes of the lease, made or found; zones are tried in turn.

    Raises NoCapacity when every zone lacks capacity, RentalFailed with EC2's reason for a
    machine that ended.
    """
    listing = leases.inventory(order.ec2, Which(order.lease))
    if not listing.of("key-pair"):
        leases.note_create(order.lease)
        request = requests.import_key_pair(order)
        order.ec2.tried("import_key_pair", request, {"InvalidKeyPair.Duplicate"})
    group = order.spec.security_group or _security_group(order, listing)
    here: list[Made] = []
    places = order.details.places
    live = leases.live_in(listing)
    held_place = order.details.place_of(live[0]) if live else None
    return in_first_with_capacity(
        zones_from(places, held_place),
        lambda place: _in_zone(order.at(place), group, place, here),
        lambda: _undo(order, here),
        order.watch,
        region=order.details.region,
        name=lambda place: place.name,
    )


def _security_group(order: AwsOrder, listing: Listed) -> str:
    """The lease's own group, open to one network."""
    groups = listing.of("security-group")
    group = str(groups[0]["GroupId"]) if groups else _new_group(order)
    cidr = order.details.ssh_cidr
    assert cidr is not None, "resolve refuses a rental without a group and without a network"
    request = requests.allow_ssh(order.claim, group, cidr)

    def admitted() -> bool | Still:
        try:
            order.ec2.call("authorize_security_group_ingress", request)
        except DiskbenchError as error:
            if is_missing(error):
                return Still("not listed yet")
            if error_code(error) != "InvalidPermission.Duplicate":  # else an earlier call did
                raise
        return True

    order.until(admitted, f"security-group {group}", order.timing.volume_s)
    return group


def _new_group(order: AwsOrder) -> str:
    """The id of the lease's security group, made now or by an earlier call whose answer was
    lost."""
    vpc = order.details.places[0].vpc
    request = requests.create_security_group(order.claim, vpc)
    leases.note_create(order.lease)
    made = order.ec2.tried("create_security_group", request, {"InvalidGroup.Duplicate"})
    if isinstance(made, dict):
        return str(made["GroupId"])
    named = requests.only(group_name=[request["GroupName"]], vpc_id=[vpc])

    def ask() -> str | Still:
        groups = order.ec2.listed("describe_security_groups", "SecurityGroups", named)
        return str(groups[0]["GroupId"]) if groups else Still("not listed yet")

    what = f"security-group {request['GroupName']}"
    return order.until(ask, what, order.timing.volume_s)


def _in_zone(order: AwsOrder, group: str, place: AwsZone, made: list[Made]) -> Provisioned:
    """Machine and volumes in one zone, running and available; what was made there is added to
    `made`. Raises NoCapacity."""
    made.clear()
    listing = leases.inventory(order.ec2, Which(order.lease))
    machine = order.details.machine.type
    live = [
        item
        for item in leases.live_in(listing)
        if item["Placement"]["AvailabilityZone"] == place.zone and item["InstanceType"] == machine
    ]
    instance = live[0] if live else _launch(order, group, place, len(leases.ended_in(listing)))
    instance_id = str(instance["InstanceId"])
    made.append(("terminate_instances", {"InstanceIds": [instance_id]}))
    ids = []
    for index in range(order.volume.count if order.volume else 0):
        ids.append(_volume(order, listing, place, index))
        made.append(("delete_volume", {"VolumeId": ids[-1]}))
    running = order.until(
        lambda: _running(order.ec2, instance_id), f"instance {instance_id}", order.timing.instance_s
    )
    return Provisioned(running, _when_available(order, ids), place)


def next_volumes(order: AwsOrder, listing: Listed, place: AwsZone) -> tuple[Item, ...]:
    """Make or find the volumes of this turn for a machine that runs in `place`."""
    disk = order.volume
    assert disk is not None, "check_swap refuses disks that come with the machine"
    return _when_available(
        order, [_volume(order, listing, place, index) for index in range(disk.count)]
    )


def _when_available(order: AwsOrder, ids: Sequence[str]) -> tuple[Item, ...]:
    limit_s = order.timing.volume_s
    return tuple(
        order.until(partial(_available, order.ec2, one), f"volume {one}", limit_s) for one in ids
    )


def _launch(order: AwsOrder, group: str, place: AwsZone, generation: int) -> Item:
    request = requests.run_instances(order, group, place, generation)

    def launched() -> Item | Still:
        leases.note_create(order.lease)
        made = order.ec2.tried("run_instances", request, NEW_THINGS)
        return Still(f"not known yet: {made.state}") if isinstance(made, Still) else made

    answer = order.until(launched, f"the launch in {place.name}", order.timing.volume_s)
    made: Item = answer["Instances"][0]
    order.watch.note(
        f"instance {made['InstanceId']} is starting: {order.details.machine.type} in {place.zone}"
    )
    return made


def _volume(order: AwsOrder, listing: Listed, place: AwsZone, index: int) -> str:
    """Make or find the disk number `index` in this zone; returns its id."""
    name = order.disk_name(index)
    for item in listing.of("volume"):
        if leases.tags(item).get("Name") == name and item["AvailabilityZone"] == place.zone:
            return str(item["VolumeId"])
    request = requests.create_volume(order, place.zone, index)
    leases.note_create(order.lease)
    made = order.ec2.call("create_volume", request)
    words = f"{request['VolumeType']}, {request['Size']} GiB"
    order.watch.note(f"volume {made['VolumeId']} is being made: {words}")
    return str(made["VolumeId"])


def _running(ec2: AwsClient, instance_id: str) -> Item | Still:
    instance = leases.describe_instance(ec2, instance_id)
    if instance is None:
        return Still("not listed yet")
    state = instance["State"]["Name"]
    if state == "running":
        return instance
    if state == "pending":
        return Still(state)
    raise ended(instance)


def ended(instance: Item) -> DiskbenchError:
    """The error for an instance that ended, by EC2's reason; capacity and quota have classes of
    their own."""
    return of_state(instance, leases.why_ended(instance))


def _available(ec2: AwsClient, volume_id: str) -> Item | Still:
    volume = leases.describe_volume(ec2, volume_id)
    if volume is None:
        return Still("not listed yet")
    state = volume["State"]
    if state in {"available", "in-use"}:
        return volume
    if state == "creating":
        return Still(state)
    raise refused("volume not available", volume_id=volume_id, state=state)


def _undo(order: AwsOrder, made: Sequence[Made]) -> None:
    """Delete what was made in a zone without capacity, by the ids that its creates returned and by
    the listing; a failed deletion is left to the release."""
    listing = leases.inventory(order.ec2, Which(order.lease))
    free = [volume for volume in listing.of("volume") if volume["State"] == "available"]
    live = leases.live_in(listing)
    listed = [
        *(("terminate_instances", {"InstanceIds": [one["InstanceId"]]}) for one in live),
        *(("delete_volume", {"VolumeId": volume["VolumeId"]}) for volume in free),
    ]
    for operation, request in [*made, *(one for one in listed if one not in made)]:
        with contextlib.suppress(DiskbenchError):
            order.ec2.call(operation, request)
