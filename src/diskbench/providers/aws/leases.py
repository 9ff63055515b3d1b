"""What leases have at AWS, listed by tag and never remembered, and their release in one region.

A create leaves its time in the lease's directory on the machine that sent it. EC2 lists a new
resource after seconds, not at once (Amazon EC2 Developer Guide, "Eventual consistency").
"""

import itertools
import math
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from diskbench.errors import AccessDenied
from diskbench.files import private_directory
from diskbench.model.rental import Which
from diskbench.providers.aws import requests
from diskbench.providers.aws.client import AwsClient, AwsTiming
from diskbench.providers.aws.disk_request import API
from diskbench.providers.aws.errors import is_missing
from diskbench.providers.keys import lease_directory
from diskbench.providers.skeleton import leases as skeleton
from diskbench.providers.skeleton.leases import Failures, Lag, Listed, noting, parted
from diskbench.providers.skeleton.provision import name_of
from diskbench.providers.waits import Still, until

Item = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """A kind of resource at EC2: the field of its id, the call that lists it with the field of the
    answer, the call that deletes one, and the field of its name (None: a tag)."""

    id: str
    look: str
    found: str
    delete: str
    name: str | None = None


KINDS: dict[str, Kind] = {name: Kind(*row) for name, row in API["kinds"].items()}
"""The kinds that a lease may have, by their names in messages, in the order in which they are
deleted. diskbench makes no addresses."""
_COPIES = {"image": {"Owners": ["self"]}, "snapshot": {"OwnerIds": ["self"]}}
"""Kinds onto which AWS Backup and Data Lifecycle Manager copy all tags of a volume or machine, the
name too: so the name of a disk or machine does not prove that they are ours. diskbench makes one
snapshot at most, with a name that nothing else of a lease has. And what lists the account's own."""
ENDED = frozenset({"terminated"})
ENDING = frozenset({"shutting-down", "terminated"})


def is_over(told: str, item: Item) -> bool:
    """Whether a resource is an instance that ended, as EC2 lists it for a while."""
    return told.startswith("instance ") and item["State"]["Name"] in ENDED


def live_in(listing: Listed) -> list[Item]:
    """The instances that are neither ending nor ended, oldest first."""
    going = [one for one in listing.of("instance") if one["State"]["Name"] not in ENDING]
    return sorted(going, key=lambda item: str(item.get("LaunchTime")))


def ended_in(listing: Listed) -> list[Item]:
    """The instances that are ending or have ended."""
    return [one for one in listing.of("instance") if one["State"]["Name"] in ENDING]


def inventory(ec2: AwsClient, which: Which | None = None, *, copies: bool = False) -> Listed:
    """The resources of one lease, or all that carry the tag of any lease: instances that ended too,
    as long as EC2 lists them, and only interfaces that are not deleted with a machine. With
    `copies`, also the account's images and snapshots with the tag, at the cost of two more calls.
    Raises diskbench's errors."""
    request = requests.of_lease(which.lease_id if which else None)
    kinds = [kind for kind in KINDS if copies or kind not in _COPIES]
    listed = {kind_and_id(kind, one): one for kind in kinds for one in _listed(ec2, kind, request)}
    ours = parted(
        listed, lambda name, item: which is None or which.takes(resource_name(name, item), name)
    )
    others = sorted(name for name in ours.others if not is_over(name, listed[name]))
    return Listed(ours.meant, tuple(others))


def _listed(ec2: AwsClient, kind: str, request: requests.Request) -> list[Item]:
    how = KINDS[kind]
    listed = ec2.listed(how.look, how.found, {**request, **_COPIES.get(kind, {})})
    if kind == "instance":
        return [item for reservation in listed for item in reservation["Instances"]]
    if kind == "volume":
        return [item for item in listed if item["State"] not in {"deleting", "deleted"}]
    if kind == "network-interface":
        return [item for item in listed if item["Status"] == "available"]
    return listed


def inventory_by_all(ec2: AwsClient, which: Which) -> Listed:
    """What `inventory` finds by the lease's tag, with copies, and what is found by the names and
    ids that the lease is known to have: tags may be listed later than their resources, and a
    listing may lag behind a create (Amazon EC2 Developer Guide, "Eventual consistency"). Raises
    diskbench's errors."""
    listing = inventory(ec2, which, copies=True)
    made = [resource.partition(" ") for resource in which.made]
    found = dict(listing.meant)
    looked_up = (
        ("instance", "instance-id", [one for word, _, one in made if word == "instance"]),
        ("volume", "volume-id", [one for word, _, one in made if word == "volume"]),
        ("security-group", "group-name", [name_of(which.lease_id, "group")]),
        ("key-pair", "key-name", [name_of(which.lease_id, "key")]),
    )
    for kind, name, values in () if which.copied else looked_up:
        for item in _listed(ec2, kind, requests.only(**{name: values})) if values else ():
            told = kind_and_id(kind, item)
            # By its name, or, where no tag is listed yet, by its id.
            by_id = not item.get("Tags") and told in which.made
            if by_id or which.takes(resource_name(told, item), told):
                found.setdefault(told, item)
    kinds = list(KINDS)
    in_order = sorted(found, key=lambda told: kinds.index(told.partition(" ")[0]))
    there = {told: found[told] for told in in_order if not is_over(told, found[told])}
    return Listed(there, listing.others)


def restored_in(ec2: AwsClient, snapshot_id: str) -> dict[str, str] | None:
    """Zone → state of Fast Snapshot Restore of a snapshot, where it is not off. None where the
    caller may not know. Raises diskbench's errors."""
    request, kind = requests.only(snapshot_id=[snapshot_id]), "FastSnapshotRestores"
    try:
        listed = ec2.listed("describe_fast_snapshot_restores", kind, request)
    except AccessDenied:
        return None
    states = {str(one["AvailabilityZone"]): str(one["State"]) for one in listed}
    return {zone: state for zone, state in states.items() if state not in {"disabled", "disabling"}}


def kind_and_id(kind: str, item: Item) -> str:
    """Kind and id of a resource: `volume vol-0abc`."""
    return f"{kind} {item[KINDS[kind].id]}"


def resource_name(told: str, item: Item) -> str | None:
    """The name of the resource that is `told` by kind and id: EC2's own where the kind has names,
    else its Name tag. None for one that was copied, whose name means nothing."""
    kind = told.partition(" ")[0]
    name = KINDS[kind].name
    carried = tags(item)
    found = str(item[name]) if name else carried.get("Name")
    own = kind == "snapshot" and found == name_of(
        carried.get(skeleton.LEASE_TAG, ""), requests.SNAPSHOT
    )
    return found if kind not in _COPIES or own else None


def tags(item: Item) -> dict[str, str]:
    """The tags of a resource."""
    carried = item.get("Tags") or item.get("TagSet", [])  # interfaces use another field name
    return {tag["Key"]: tag["Value"] for tag in carried}


def mark(told: str, item: Item) -> skeleton.Tagged | None:
    """The resource that is `told` by kind and id; None where its tags name no lease."""
    return skeleton.tagged(tags(item), told, resource_name(told, item), item)


def why_ended(instance: Item) -> str:
    """EC2's reason for an instance's state."""
    reason = instance.get("StateReason") or {}
    message = str(reason.get("Message") or instance.get("StateTransitionReason") or "")
    code = str(reason.get("Code") or "")
    if code and code not in message:
        message = f"{message} ({code})" if message else code
    return message or "AWS gives no reason"


def note_create(lease_id: str) -> None:
    """Record that a create of the lease is sent now."""
    mark = create_mark(lease_id)
    private_directory(mark.parent)
    mark.touch(mode=0o600)


def create_mark(lease_id: str) -> Path:
    """The file whose time is that of the last create that this machine sent for the lease."""
    return lease_directory(lease_id) / "last-create"


def describe_instance(ec2: AwsClient, instance_id: str) -> Item | None:
    """One instance as EC2 describes it; None while it is not listed yet or no longer listed."""
    request = {"InstanceIds": [instance_id]}
    reservations = ec2.found("describe_instances", "Reservations", request)
    return next((item for group in reservations for item in group["Instances"]), None)


def describe_volume(ec2: AwsClient, volume_id: str) -> Item | None:
    """One volume as EC2 describes it; None while it is not listed yet or no longer listed."""
    request = {"VolumeIds": [volume_id]}
    return next(iter(ec2.found("describe_volumes", "Volumes", request)), None)


LATER = frozenset(API["codes"]["until free"])
"""EC2's codes while a resource just deleted still depends on this one."""


_TIMES = ("LaunchTime", "CreateTime")
"""The fields in which EC2 says when a resource was made."""


def release(ec2: AwsClient, which: Which, timing: AwsTiming) -> None:
    """Release the resources of a lease in one region; see skeleton.leases.release."""

    def list_lease(_: Collection[str]) -> Listed:
        return inventory_by_all(ec2, which)

    def give_back(listing: Listed, failures: Failures) -> None:
        machines = [what for what in listing.meant if what.startswith("instance ")]
        for what in machines:
            with noting(failures, what, is_missing):
                ec2.call("terminate_instances", {"InstanceIds": [_id(what)]})
        for what in machines:
            if what not in failures:
                with noting(failures, what, is_missing):
                    until(partial(_ended, ec2, _id(what)), what, timing.terminate_s, timing)
        for item in listing.of("snapshot"):
            # Fast Snapshot Restore of the lease's own is billed by the hour.
            name = item["SnapshotId"]
            with noting(failures, f"snapshot {name}", is_missing):
                for zone in restored_in(ec2, name) or ():
                    ec2.call("disable_fast_snapshot_restores", requests.restore_fast(name, zone))
        for what, item in listing.meant.items():
            if not what.startswith("instance "):
                with noting(failures, what, is_missing):
                    until(partial(_deleted, ec2, what, item), what, timing.delete_s, timing)

    lag = Lag(timing, partial(unlisted_s, which, timing), timing.delete_s, timing.settle_repeats)
    skeleton.release(which, ec2.session.region, list_lease, give_back, lag=lag)


def _ended(ec2: AwsClient, instance_id: str) -> bool | Still:
    instance = describe_instance(ec2, instance_id)
    state = instance["State"]["Name"] if instance else "terminated"
    return True if state in ENDED else Still(state)


def _deleted(ec2: AwsClient, what: str, item: Item) -> bool | Still:
    """Delete one resource; Still while a resource deleted just now still depends on it."""
    how = KINDS[what.partition(" ")[0]]
    answer = ec2.tried(how.delete, {how.id: item[how.id]}, LATER, gone=True)
    return answer if isinstance(answer, Still) else True


def lease_ids(ec2: AwsClient, which: Which) -> Iterator[str]:
    """The ids of all resources of the lease, including those that are deleted with the machine."""
    listing = inventory_by_all(ec2, which)
    for what, item in listing.meant.items():
        # A key pair is listed by name but tagged by its id.
        yield str(item["KeyPairId"]) if what.startswith("key-pair ") else _id(what)
        if what.startswith("instance ") and "SpotInstanceRequestId" in item:
            yield str(item["SpotInstanceRequestId"])
    request = requests.of_lease(which.lease_id)
    for item in ec2.listed("describe_network_interfaces", "NetworkInterfaces", request):
        if which.takes(tags(item).get("Name"), kind_and_id("network-interface", item)):
            yield str(item["NetworkInterfaceId"])


def _id(what: str) -> str:
    return what.partition(" ")[2]


def unlisted_s(which: Which, timing: AwsTiming, first: Listed) -> float | None:
    """Seconds for which a create of the lease may still be unlisted, by `first`, the listing with
    which the release began; None where nothing can be. If this machine sent none, another may have:
    then the times of the listed resources count. For a lease that expired, or whose resources were
    recorded, no creates are sent any more."""
    if which.copied:
        return None
    try:
        sent = create_mark(which.lease_id).stat().st_mtime
    except FileNotFoundError:
        if which.made:
            return None
        ends = [one.expires_at for one in itertools.starmap(mark, first.meant.items()) if one]
        if any((end or math.inf) <= time.time() for end in ends):
            return None
        items = first.meant.values()
        made = [item[key].timestamp() for item in items for key in _TIMES if key in item]
        sent = max(made, default=time.time())
    # Where this machine's clock is behind the cloud's, a create seems to lie in the future.
    return timing.settle_s - max(0.0, time.time() - sent)
