"""The resources of one lease or of all leases, listed by tag and never remembered; and how long a
create of a lease may still be unlisted.

A create leaves its time in the lease's directory on the machine that sent it. EC2 lists a new
resource after seconds, not at once (Amazon EC2 Developer Guide, "Eventual consistency").
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from diskbench.errors import AccessDenied
from diskbench.files import private_directory
from diskbench.model.rental import Which
from diskbench.providers.aws.client import AwsClient, AwsTiming
from diskbench.providers.aws.requests import (
    EXPIRES_TAG,
    LEASE_TAG,
    OWNER_TAG,
    SNAPSHOT,
    name_of,
    of_any_lease,
    of_lease,
)
from diskbench.providers.keys import lease_directory

Item = dict[str, Any]
_IDS = {
    "instances": ("instance", "InstanceId"),
    "volumes": ("volume", "VolumeId"),
    "interfaces": ("network-interface", "NetworkInterfaceId"),
    "addresses": ("address", "AllocationId"),
    "groups": ("security-group", "GroupId"),
    "keys": ("key-pair", "KeyName"),
    "images": ("image", "ImageId"),
    "snapshots": ("snapshot", "SnapshotId"),
}
"""Kind's name in messages, and the field of its id."""
_COPIES = frozenset({"images", "snapshots"})
"""Kinds onto which AWS Backup and Data Lifecycle Manager copy all tags of a volume or machine, the
name too: so the name of a disk or machine does not prove that they are ours. diskbench makes one
snapshot at most, with a name that nothing else of a lease has."""
_NAMES = {"groups": "GroupName", "keys": "KeyName"}
"""Kinds with a name field in EC2; the name of any other kind is a tag."""
ENDED = frozenset({"terminated"})
ENDING = frozenset({"shutting-down", "terminated"})


@dataclass(frozen=True)
class AwsInventory:
    """Instances (ended ones too, as long as EC2 lists them), volumes, interfaces that are not
    deleted with a machine, addresses (diskbench makes none), groups and key pairs; with copies,
    also the account's images and snapshots."""

    instances: tuple[Item, ...]
    volumes: tuple[Item, ...]
    interfaces: tuple[Item, ...]
    addresses: tuple[Item, ...]
    groups: tuple[Item, ...]
    keys: tuple[Item, ...]
    images: tuple[Item, ...] = ()
    snapshots: tuple[Item, ...] = ()
    others: tuple[str, ...] = ()
    """Kinds and ids of resources that carry the lease's tag but do not belong to it."""

    def resources(self) -> Iterator[tuple[str, Item]]:
        """All resources, each with the name of its field."""
        for kind in _IDS:
            for item in getattr(self, kind):
                if kind != "instances" or item["State"]["Name"] not in ENDED:
                    yield kind, item

    def names(self) -> tuple[str, ...]:
        """Kinds and ids of all resources."""
        return tuple(kind_and_id(kind, item) for kind, item in self.resources())

    @property
    def live(self) -> tuple[Item, ...]:
        """The instances that are neither ending nor ended, oldest first."""
        going = [item for item in self.instances if item["State"]["Name"] not in ENDING]
        return tuple(sorted(going, key=lambda item: str(item.get("LaunchTime"))))

    @property
    def ended(self) -> tuple[Item, ...]:
        """The instances that are ending or have ended."""
        return tuple(item for item in self.instances if item["State"]["Name"] in ENDING)


def inventory(ec2: AwsClient, which: Which | None = None, *, copies: bool = False) -> AwsInventory:
    """The resources of one lease, or all that carry the tag of any lease; with `copies`, also the
    images and snapshots with the tag, at the cost of two more calls. Raises diskbench's errors."""
    request = {"Filters": of_lease(which.lease_id) if which else of_any_lease()}
    reservations = ec2.listed("describe_instances", "Reservations", request)
    listed = AwsInventory(
        instances=tuple(item for reservation in reservations for item in reservation["Instances"]),
        volumes=tuple(
            item
            for item in ec2.listed("describe_volumes", "Volumes", request)
            if item["State"] not in {"deleting", "deleted"}
        ),
        interfaces=tuple(
            item
            for item in ec2.listed("describe_network_interfaces", "NetworkInterfaces", request)
            if item["Status"] == "available"
        ),
        addresses=tuple(ec2.call("describe_addresses", request)["Addresses"]),
        groups=tuple(ec2.listed("describe_security_groups", "SecurityGroups", request)),
        keys=tuple(ec2.listed("describe_key_pairs", "KeyPairs", request)),
    )
    if copies:
        mine = {**request, "Owners": ["self"]}
        images = tuple(ec2.listed("describe_images", "Images", mine))
        mine = {**request, "OwnerIds": ["self"]}
        snapshots = tuple(ec2.listed("describe_snapshots", "Snapshots", mine))
        listed = replace(listed, images=images, snapshots=snapshots)
    return listed if which is None else _meant(listed, which)


def restored_in(ec2: AwsClient, snapshot_id: str) -> dict[str, str] | None:
    """Zone → state of Fast Snapshot Restore of a snapshot, where it is not off. None where the
    caller may not know. Raises diskbench's errors."""
    request = {"Filters": [{"Name": "snapshot-id", "Values": [snapshot_id]}]}
    try:
        listed = ec2.listed("describe_fast_snapshot_restores", "FastSnapshotRestores", request)
    except AccessDenied:
        return None
    states = {str(one["AvailabilityZone"]): str(one["State"]) for one in listed}
    return {zone: state for zone, state in states.items() if state not in {"disabled", "disabling"}}


def inventory_by_all(ec2: AwsClient, which: Which) -> AwsInventory:
    """What `inventory` finds by the lease's tag, with copies, and what is found by the names and
    ids that the lease is known to have: tags may be listed later than their resources, and a
    listing may lag behind a create (Amazon EC2 Developer Guide, "Eventual consistency"). Raises
    diskbench's errors."""
    tagged = inventory(ec2, which, copies=True)
    if which.copied:
        return tagged
    made = [resource.partition(" ") for resource in which.made]

    def listed(operation: str, key: str, name: str, values: list[str]) -> list[Item]:
        if not values:
            return []
        request = {"Filters": [{"Name": name, "Values": values}]}
        return ec2.listed(operation, key, request)

    def ids(word: str) -> list[str]:
        return [identifier for kind, _, identifier in made if kind == word]

    reservations = listed("describe_instances", "Reservations", "instance-id", ids("instance"))
    group, key = name_of(which.lease_id, "group"), name_of(which.lease_id, "key")
    by_name_or_id: dict[str, list[Item]] = {
        "instances": [item for reservation in reservations for item in reservation["Instances"]],
        "volumes": [
            item
            for item in listed("describe_volumes", "Volumes", "volume-id", ids("volume"))
            if item["State"] not in {"deleting", "deleted"}
        ],
        "groups": listed("describe_security_groups", "SecurityGroups", "group-name", [group]),
        "keys": listed("describe_key_pairs", "KeyPairs", "key-name", [key]),
    }
    with_named: dict[str, Any] = {
        kind: _with(kind, getattr(tagged, kind), items, which)
        for kind, items in by_name_or_id.items()
    }
    return replace(tagged, **with_named)


def _with(
    kind: str, known: tuple[Item, ...], items: Sequence[Item], which: Which
) -> tuple[Item, ...]:
    """`known`, and those of `items` that belong to the lease: by their names, or, where no tag is
    listed yet, by their ids."""
    known_names = {kind_and_id(kind, item) for item in known}
    ours = [
        item
        for item in items
        if which.takes(resource_name(kind, item), kind_and_id(kind, item))
        or (not item.get("Tags") and kind_and_id(kind, item) in which.made)
    ]
    return (*known, *(item for item in ours if kind_and_id(kind, item) not in known_names))


def _meant(listed: AwsInventory, which: Which) -> AwsInventory:
    """The inventory without resources that carry the lease's tag but do not belong to it; those are
    kept by name in a separate field."""

    def of(kind: str) -> tuple[Item, ...]:
        items: tuple[Item, ...] = getattr(listed, kind)
        return tuple(
            item
            for item in items
            if which.takes(resource_name(kind, item), kind_and_id(kind, item))
        )

    kept: dict[str, Any] = {kind: of(kind) for kind in _IDS}
    meant = replace(listed, **kept)
    others = set(listed.names()) - set(meant.names())
    return replace(meant, others=tuple(sorted(others)))


def kind_and_id(kind: str, item: Item) -> str:
    """Kind and id of a resource: `volume vol-0abc`."""
    word, key = _IDS[kind]
    return f"{word} {item[key]}"


def resource_name(kind: str, item: Item) -> str | None:
    """The resource's name: EC2's own where the kind has names, else its Name tag. None for one that
    was copied, whose name means nothing."""
    name = _NAMES.get(kind)
    found = str(item[name]) if name else tag(item, "Name")
    own = kind == "snapshots" and found == name_of(lease_of(item) or "", SNAPSHOT)
    return found if kind not in _COPIES or own else None


def tag(item: Item, key: str) -> str | None:
    """The value of one tag."""
    carried = item.get("Tags") or item.get("TagSet", [])  # interfaces use another field name
    return next((t["Value"] for t in carried if t["Key"] == key), None)


def lease_of(item: Item) -> str | None:
    """The lease in the resource's tags."""
    return tag(item, LEASE_TAG)


def owner_of(item: Item) -> str | None:
    """The owner in the resource's tags."""
    return tag(item, OWNER_TAG)


def expiry_of(item: Item) -> float | None:
    """When the resource's lease expires, in Unix seconds; None where its tags do not say."""
    text = tag(item, EXPIRES_TAG) or ""
    return float(text) if text.isdecimal() else None


def why_ended(instance: Item) -> str:
    """EC2's reason for an instance's state."""
    reason = instance.get("StateReason") or {}
    message = str(reason.get("Message") or instance.get("StateTransitionReason") or "")
    code = str(reason.get("Code") or "")
    if code and code not in message:
        message = f"{message} ({code})" if message else code
    return message or "AWS gives no reason"


_TIMES = ("LaunchTime", "CreateTime")
"""The fields in which EC2 says when a resource was made."""


def note_create(lease_id: str) -> None:
    """Record that a create of the lease is sent now."""
    mark = _mark(lease_id)
    private_directory(mark.parent)
    mark.touch(mode=0o600)


def unlisted_s(which: Which, timing: AwsTiming, first: AwsInventory) -> float | None:
    """Seconds for which a create of the lease may still be unlisted, by `first`, the listing with
    which the release began; None where nothing can be. If this machine sent none, another may have:
    then the times of the listed resources count. For a lease that expired, or whose resources were
    recorded, no creates are sent any more."""
    if which.copied:
        return None
    try:
        sent = _mark(which.lease_id).stat().st_mtime
    except FileNotFoundError:
        if which.made:
            return None
        items = [item for _, item in first.resources()]
        if any((expiry_of(item) or math.inf) <= time.time() for item in items):
            return None
        made = [item[key].timestamp() for item in items for key in _TIMES if key in item]
        sent = max(made, default=time.time())
    # Where this machine's clock is behind the cloud's, a create seems to lie in the future.
    return timing.settle_s - max(0.0, time.time() - sent)


def _mark(lease_id: str) -> Path:
    return lease_directory(lease_id) / "last-create"
