"""Giving back: everything of a lease in one region, and how long a create of it may be unlisted."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator
from functools import partial

from diskbench.model.rental import Which
from diskbench.providers.aws import requests
from diskbench.providers.aws.client import AwsClient, AwsTiming
from diskbench.providers.aws.errors import is_missing
from diskbench.providers.aws.inventory import (
    ENDED,
    KINDS,
    AwsInventory,
    Item,
    create_mark,
    expiry_of,
    inventory_by_all,
    kind_and_id,
    restored_in,
    tag,
)
from diskbench.providers.aws.provision import describe_instance
from diskbench.providers.skeleton import leases as skeleton
from diskbench.providers.skeleton.leases import Failures, Lag, noting
from diskbench.providers.waits import Still, until

LATER = frozenset(
    {
        "DependencyViolation", "VolumeInUse", "IncorrectState", "InvalidGroup.InUse",
        "InvalidNetworkInterface.InUse", "InvalidIPAddress.InUse", "InvalidSnapshot.InUse",
    }
)  # fmt: skip
"""EC2's codes while a resource just deleted still depends on this one."""


_TIMES = ("LaunchTime", "CreateTime")
"""The fields in which EC2 says when a resource was made."""


def release(ec2: AwsClient, which: Which, timing: AwsTiming) -> None:
    """Release the resources of a lease in one region; see skeleton.leases.release."""

    def list_lease(_: Collection[str]) -> AwsInventory:
        return inventory_by_all(ec2, which)

    def give_back(listing: AwsInventory, failures: Failures) -> None:
        _terminate(ec2, listing, timing, failures)
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


def _terminate(
    ec2: AwsClient, listing: AwsInventory, timing: AwsTiming, failures: Failures
) -> None:
    """Terminate all of them, then wait for each."""
    machines = [what for what in listing.names() if what.startswith("instance ")]
    for what in machines:
        with noting(failures, what, is_missing):
            ec2.call("terminate_instances", {"InstanceIds": [_id(what)]})
    for what in machines:
        if what not in failures:
            with noting(failures, what, is_missing):
                until(partial(_ended, ec2, _id(what)), what, timing.terminate_s, timing)


def _ended(ec2: AwsClient, instance_id: str) -> bool | Still:
    instance = describe_instance(ec2, instance_id)
    state = instance["State"]["Name"] if instance else "terminated"
    return True if state in ENDED else Still(state)


def _deleted(ec2: AwsClient, what: str, item: Item) -> bool | Still:
    """Delete one resource; Still while a resource deleted just now still depends on it."""
    how = KINDS[what.partition(" ")[0]]
    answer = ec2.tried(how.delete, {how.id: item[how.id]}, LATER, missing_ok=True)
    return answer if isinstance(answer, Still) else True


def lease_ids(ec2: AwsClient, which: Which) -> Iterator[str]:
    """The ids of all resources of the lease, including those that are deleted with the machine."""
    listing = inventory_by_all(ec2, which)
    for what, item in listing.there.items():
        # A key pair is listed by name but tagged by its id.
        yield str(item["KeyPairId"]) if what.startswith("key-pair ") else _id(what)
        if what.startswith("instance ") and "SpotInstanceRequestId" in item:
            yield str(item["SpotInstanceRequestId"])
    request = requests.of_lease(which.lease_id)
    for item in ec2.listed("describe_network_interfaces", "NetworkInterfaces", request):
        if which.takes(tag(item, "Name"), kind_and_id("network-interface", item)):
            yield str(item["NetworkInterfaceId"])


def _id(what: str) -> str:
    return what.partition(" ")[2]


def unlisted_s(which: Which, timing: AwsTiming, first: AwsInventory) -> float | None:
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
        items = first.there.values()
        if any((expiry_of(item) or math.inf) <= time.time() for item in items):
            return None
        made = [item[key].timestamp() for item in items for key in _TIMES if key in item]
        sent = max(made, default=time.time())
    # Where this machine's clock is behind the cloud's, a create seems to lie in the future.
    return timing.settle_s - max(0.0, time.time() - sent)
