"""Release all resources of a lease in the order of dependence, and wait until they are gone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError
from diskbench.providers.aws.errors import error_code, is_missing
from diskbench.providers.aws.inventory import ENDED, inventory_by_all, kind_and_id
from diskbench.providers.aws.settling import unlisted_s
from diskbench.providers.skeleton import leases as skeleton
from diskbench.providers.skeleton.leases import Lag, noting
from diskbench.providers.waits import Still, until

if TYPE_CHECKING:
    from collections.abc import Collection

    from diskbench.model.ours import Which
    from diskbench.providers.aws.client import AwsClient
    from diskbench.providers.aws.inventory import AwsInventory
    from diskbench.providers.aws.timing import AwsTiming
    from diskbench.providers.skeleton.leases import Failures

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
    """Release the resources of a lease in one region; see skeleton.release."""

    def list_lease(_: Collection[str]) -> AwsInventory:
        return inventory_by_all(ec2, which)

    def give_back(listing: AwsInventory, failures: Failures) -> None:
        _instances(ec2, listing, timing, failures)
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
