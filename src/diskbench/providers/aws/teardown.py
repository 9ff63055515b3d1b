"""The leases of an account, and the end of one: found in one region or in all enabled regions,
extended, released in the order of dependence, and the reason why a lease's machine is gone.

An extension moves the guest's timer first, then all tags in one request: only the guest's timer
ends an instance by itself (its shutdown terminates it). Between the two steps, `gc` on another
controller still uses the earlier end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from diskbench.errors import DiskbenchError, InvalidValue, ReleaseFailed
from diskbench.model.rental import Found, LeaseEnd, Scope, Which
from diskbench.ports import Host
from diskbench.providers.aws import requests
from diskbench.providers.aws.client import ANY_REGION, AwsClient, AwsSessions, AwsTiming
from diskbench.providers.aws.errors import error_code, is_missing
from diskbench.providers.aws.inventory import (
    ENDED,
    AwsInventory,
    Item,
    expiry_of,
    inventory,
    inventory_by_all,
    kind_and_id,
    lease_of,
    owner_of,
    resource_name,
    restored_in,
    tag,
    unlisted_s,
    why_ended,
)
from diskbench.providers.guest import move_timer
from diskbench.providers.skeleton import leases as skeleton
from diskbench.providers.skeleton.leases import Failures, Lag, Tagged, by_lease, giving_back, noting
from diskbench.providers.waits import Still, until

LATER = frozenset(
    {
        "DependencyViolation", "VolumeInUse", "IncorrectState", "InvalidGroup.InUse",
        "InvalidNetworkInterface.InUse", "InvalidIPAddress.InUse", "InvalidSnapshot.InUse",
    }
)  # fmt: skip
"""EC2's codes while a resource just deleted still depends on this one."""
_KINDS = (
    ("volumes", "delete_volume", "VolumeId"),
    # Addresses before their interfaces, and interfaces before their groups.
    ("addresses", "release_address", "AllocationId"),
    ("interfaces", "delete_network_interface", "NetworkInterfaceId"),
    ("groups", "delete_security_group", "GroupId"),
    ("keys", "delete_key_pair", "KeyName"),
    # Images before their snapshots; only those that the user named.
    ("images", "deregister_image", "ImageId"),
    ("snapshots", "delete_snapshot", "SnapshotId"),
)
"""Resources deleted after the instances, in order of dependence: the field of Inventory, the
call and its id parameter."""


def release(ec2: AwsClient, which: Which, timing: AwsTiming) -> None:
    """Release the resources of a lease in one region; see skeleton.leases.release."""

    def list_lease(_: Collection[str]) -> AwsInventory:
        return inventory_by_all(ec2, which)

    def give_back(listing: AwsInventory, failures: Failures) -> None:
        _instances(ec2, listing, timing, failures)
        _restores(ec2, listing, failures)
        for kind, operation, key in _KINDS:
            for item in getattr(listing, kind):
                what = kind_and_id(kind, item)
                with noting(failures, what, is_missing):
                    until(
                        partial(_deleted, ec2, operation, {key: item[key]}),
                        what,
                        timing.delete_s,
                        timing,
                    )

    lag = Lag(timing, partial(unlisted_s, which, timing), timing.delete_s, timing.settle_repeats)
    skeleton.release(which, ec2.session.region, list_lease, give_back, lag=lag)


def _instances(
    ec2: AwsClient, listing: AwsInventory, timing: AwsTiming, failures: Failures
) -> None:
    """Terminate all of them, then wait for each."""
    ids = [i["InstanceId"] for i in listing.instances if i["State"]["Name"] not in ENDED]
    for instance_id in ids:
        with noting(failures, f"instance {instance_id}", is_missing):
            ec2.call("terminate_instances", {"InstanceIds": [instance_id]})
    for what, instance_id in ((f"instance {identifier}", identifier) for identifier in ids):
        if what not in failures:
            with noting(failures, what, is_missing):
                until(partial(_ended, ec2, instance_id), what, timing.terminate_s, timing)


def _restores(ec2: AwsClient, listing: AwsInventory, failures: Failures) -> None:
    """End Fast Snapshot Restore of the lease's snapshots, which is billed by the hour."""
    for item in listing.snapshots:
        name = item["SnapshotId"]
        with noting(failures, kind_and_id("snapshots", item), is_missing):
            for zone in restored_in(ec2, name) or ():
                ec2.call("disable_fast_snapshot_restores", requests.restore_fast(name, zone))


def _ended(ec2: AwsClient, instance_id: str) -> bool | Still:
    try:
        answer = ec2.listed("describe_instances", "Reservations", {"InstanceIds": [instance_id]})
    except DiskbenchError as error:
        if is_missing(error):
            return True
        raise
    states = [item["State"]["Name"] for reservation in answer for item in reservation["Instances"]]
    return True if all(state in ENDED for state in states) else Still(states[0])


def _deleted(ec2: AwsClient, operation: str, request: dict[str, str]) -> bool | Still:
    """Delete one resource; Still while a resource deleted just now still depends on it."""
    try:
        ec2.call(operation, request)
    except DiskbenchError as error:
        if is_missing(error):
            return True
        if error_code(error) in LATER:
            return Still(error.message)
        raise
    return True


_AT_ONCE = 8


def found_leases(sessions: AwsSessions, scope: Scope, timing: AwsTiming) -> Sequence[Found]:
    """The leases at `scope`; without a region, all enabled regions are searched."""
    regions = regions_of(sessions, scope, timing)
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        listed = pool.map(lambda region: _in_region(sessions, scope, region, timing), regions)
        return [lease for leases in listed for lease in leases]


def release_everywhere(
    sessions: AwsSessions, which: Which, scope: Scope, timing: AwsTiming
) -> None:
    """Release a lease in its region, or in all regions when its scope names none. Raises one
    ReleaseFailed for all regions."""
    failures: list[ReleaseFailed] = []
    with giving_back(which.lease_id):
        for region in regions_of(sessions, scope, timing):
            try:
                aws = sessions.of_scope(scope, timing, region)
                release(aws.edge("ec2", timing), which, timing)
            except ReleaseFailed as error:
                failures.append(error)
    if failures:
        raise ReleaseFailed(
            "; ".join(error.message for error in failures), advice=failures[0].advice
        ) from failures[0]


def regions_of(sessions: AwsSessions, scope: Scope, timing: AwsTiming) -> tuple[str, ...]:
    """The region of the scope, else all that its account has enabled. Raises diskbench's errors."""
    if scope.region is not None:
        return (scope.region,)
    try:
        # Accounts of China or GovCloud do not exist in us-east-1.
        aws = sessions.of_scope(scope, timing)
    except InvalidValue:
        aws = sessions.of_scope(scope, timing, ANY_REGION)
    listed = aws.edge("ec2", timing).call("describe_regions")["Regions"]
    return tuple(sorted(region["RegionName"] for region in listed))


def _in_region(sessions: AwsSessions, scope: Scope, region: str, timing: AwsTiming) -> list[Found]:
    ec2 = sessions.of_scope(scope, timing, region).edge("ec2", timing)
    here = scope.model_copy(update={"region": region})
    return by_lease(
        here,
        (
            Tagged(
                lease_id,
                kind_and_id(kind, item),
                resource_name(kind, item),
                expiry_of(item),
                owner_of(item),
            )
            for kind, item in inventory(ec2, copies=True).resources()
            if (lease_id := lease_of(item)) is not None
        ),
    )


def why_gone(lease_id: str, sessions: AwsSessions, scope: Scope, timing: AwsTiming) -> str | None:
    """The reason why the lease's machine is gone; None while it may answer. Raises diskbench's
    errors."""
    ec2 = sessions.of_scope(scope, timing).edge("ec2", timing)
    listing = inventory(ec2, Which(lease_id))
    if any(item["State"]["Name"] in {"pending", "running"} for item in listing.live):
        return None
    last = max(listing.instances, key=lambda item: str(item.get("LaunchTime")), default=None)
    if last is None:
        return f"EC2 lists no instance of lease {lease_id}"
    return f"{last['InstanceId']} is {last['State']['Name']}: {why_ended(last)}"


def extend(
    sessions: AwsSessions,
    which: Which,
    scope: Scope,
    timing: AwsTiming,
    end: LeaseEnd,
    guest: Host,
) -> None:
    """Move the end of a lease to `end`."""
    move_timer(guest, end)
    for region in regions_of(sessions, scope, timing):
        ec2 = sessions.of_scope(scope, timing, region).edge("ec2", timing)
        ids = sorted(set(_ids(ec2, which)))
        if ids:
            ec2.call("create_tags", requests.new_expiry(ids, end.expires_at))


def _ids(ec2: AwsClient, which: Which) -> Iterator[str]:
    """The ids of all resources of the lease, including those that are deleted with the machine."""
    listing = inventory_by_all(ec2, which)
    for kind, item in listing.resources():
        yield _id(kind, item)
        if kind == "instances" and "SpotInstanceRequestId" in item:
            yield str(item["SpotInstanceRequestId"])
    request: dict[str, Any] = {"Filters": requests.of_lease(which.lease_id)}
    for item in ec2.listed("describe_network_interfaces", "NetworkInterfaces", request):
        if which.takes(tag(item, "Name"), kind_and_id("interfaces", item)):
            yield str(item["NetworkInterfaceId"])


def _id(kind: str, item: Item) -> str:
    """The id that tags need; a key pair is listed by name but tagged by its id."""
    return str(item["KeyPairId"]) if kind == "keys" else kind_and_id(kind, item).partition(" ")[2]
