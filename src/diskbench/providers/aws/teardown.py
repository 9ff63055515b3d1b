"""Release all resources of a lease in the order of dependence, and wait until they are gone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError
from diskbench.providers.aws.errors import error_code, is_missing
from diskbench.providers.aws.inventory import ENDED, inventory_by_all, told
from diskbench.providers.aws.settling import settled
from diskbench.providers.skeleton import release as skeleton
from diskbench.providers.skeleton.release import noting
from diskbench.providers.waits import Still, until

if TYPE_CHECKING:
    from diskbench.model.ours import Which
    from diskbench.providers.aws.client import AwsClient
    from diskbench.providers.aws.inventory import AwsInventory
    from diskbench.providers.aws.timing import AwsTiming
    from diskbench.providers.skeleton.release import Failures

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
    """Release the resources of a lease in one region; see skeleton.release.

    One empty listing proves nothing just after a create, nor does a listing that still shows what
    was deleted a moment ago: EC2 is asked again until both have had the time to show.
    """
    given: set[str] = set()
    listings: list[AwsInventory] = []

    def listed_now() -> AwsInventory:
        what = f"the listing of {which.lease_id}"
        found = until(partial(_unlisted, ec2, which, given), what, timing.delete_s, timing)
        listings.append(found)
        return found if found.names() else settled(ec2, which, timing, found, listings[0])

    def give_back(found: AwsInventory, failures: Failures) -> None:
        _instances(ec2, found, timing, failures)
        for kind, operation, key in _KINDS:
            for item in getattr(found, kind):
                what = told(kind, item)
                with noting(failures, what, is_missing):
                    until(
                        partial(_deleted, ec2, operation, {key: item[key]}),
                        what,
                        timing.delete_s,
                        timing,
                    )
        given.update(name for name in found.names() if name not in failures)

    skeleton.release(which, ec2.session.region, listed_now, give_back)


def _unlisted(ec2: AwsClient, which: Which, given: set[str]) -> AwsInventory | Still:
    """The listing, once it shows nothing of what was deleted."""
    found = inventory_by_all(ec2, which)
    held = given.intersection(found.names())
    return Still(f"{', '.join(sorted(held))} is still listed") if held else found


def _instances(ec2: AwsClient, found: AwsInventory, timing: AwsTiming, failures: Failures) -> None:
    """Terminate all of them, then wait for each."""
    ids = [i["InstanceId"] for i in found.instances if i["State"]["Name"] not in ENDED]
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
    states = [item["State"]["Name"] for held in answer for item in held["Instances"]]
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
