"""Giving back everything of a lease, in the order of dependence, to the end."""

from __future__ import annotations

import functools
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, ReleaseFailed
from diskbench.providers.aws.errors import error_code, is_missing
from diskbench.providers.aws.inventory import ENDED, inventory
from diskbench.providers.places import lease_directory
from diskbench.providers.waits import Still, until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.ours import Which
    from diskbench.providers.aws.edge import Edge
    from diskbench.providers.aws.inventory import Inventory
    from diskbench.providers.aws.timing import AwsTiming

_LATER = frozenset(
    {
        "DependencyViolation", "VolumeInUse", "IncorrectState", "InvalidGroup.InUse",
        "InvalidNetworkInterface.InUse", "InvalidIPAddress.InUse", "InvalidSnapshot.InUse",
    }
)  # fmt: skip
"""What EC2 says while something that was let go of still hangs on it."""
_ROUNDS = 3
"""How often the listing is worked off: an `acquire` under way may add to it meanwhile."""


@dataclass
class _Failures:
    """What could not be given back, and why; one reason for each."""

    reasons: dict[str, str] = field(default_factory=dict)

    def note(self, what: str, error: DiskbenchError) -> None:
        self.reasons[what] = error.message


def release(ec2: Edge, which: Which, timing: AwsTiming) -> None:
    """Give back all that is meant of a lease in one region; nothing there is as well.

    Everything is tried; raises ReleaseFailed once, naming what the last listing still shows.
    """
    lease_id = which.lease_id
    directory = lease_directory(lease_id)
    others: tuple[str, ...] = ()
    failures = _Failures()
    left: tuple[str, ...] = ()
    for _ in range(_ROUNDS):
        try:
            found = inventory(ec2, which, copies=True)
        except DiskbenchError as error:
            raise _failed(lease_id, ec2, ("what is there could not be listed",), error) from error
        left, others = found.names(), found.others
        if not left:
            break
        failures = _Failures()
        _instances(ec2, found, timing, failures)
        _volumes(ec2, found, timing, failures)
        _network(ec2, found, timing, failures)
        _keys(ec2, found, failures)
        _copies(ec2, found, timing, failures)
        if failures.reasons:
            break
    else:
        left = inventory(ec2, which, copies=True).names()
    which.warn(others)
    if failures.reasons or left:
        remaining = {**dict.fromkeys(left, "still listed"), **failures.reasons}
        told = tuple(f"{what} ({why})" for what, why in remaining.items())
        raise _failed(lease_id, ec2, told)
    if not which.copied:
        shutil.rmtree(directory, ignore_errors=True)


def _failed(
    lease_id: str, ec2: Edge, told: tuple[str, ...], error: DiskbenchError | None = None
) -> ReleaseFailed:
    region = ec2.session.region
    why = f": {error.message}" if error else ""
    first = f"{error.advice}; then: " if error and error.advice else ""
    return ReleaseFailed(
        f"not given back in {region}: {'; '.join(told)}{why}",
        advice=f"{first}diskbench gc {lease_id}; they cost money until then",
    )


def _instances(ec2: Edge, found: Inventory, timing: AwsTiming, failures: _Failures) -> None:
    ids = [i["InstanceId"] for i in found.instances if i["State"]["Name"] not in ENDED]
    for instance_id in ids:
        what = f"instance {instance_id}"
        try:
            ec2.call("terminate_instances", {"InstanceIds": [instance_id]})
        except DiskbenchError as error:
            if not is_missing(error):
                failures.note(what, error)
    for instance_id in ids:
        what = f"instance {instance_id}"
        if what in failures.reasons:
            continue
        try:
            until(functools.partial(_ended, ec2, instance_id), what, timing.terminate_s, timing)
        except DiskbenchError as error:
            failures.note(what, error)


def _ended(ec2: Edge, instance_id: str) -> bool | Still:
    try:
        answer = ec2.listed("describe_instances", "Reservations", {"InstanceIds": [instance_id]})
    except DiskbenchError as error:
        if is_missing(error):
            return True
        raise
    states = [item["State"]["Name"] for held in answer for item in held["Instances"]]
    return True if all(state in ENDED for state in states) else Still(states[0])


def _volumes(ec2: Edge, found: Inventory, timing: AwsTiming, failures: _Failures) -> None:
    ids = [one["VolumeId"] for one in found.volumes]
    _each(ec2, "delete_volume", "VolumeId", "volume", ids, timing, failures)


def _network(ec2: Edge, found: Inventory, timing: AwsTiming, failures: _Failures) -> None:
    """Addresses before the interfaces that they are on, and those before their groups."""
    ids = [one["AllocationId"] for one in found.addresses]
    _each(ec2, "release_address", "AllocationId", "address", ids, timing, failures)
    name, kind = "NetworkInterfaceId", "network-interface"
    ids = [one[name] for one in found.interfaces]
    _each(ec2, "delete_network_interface", name, kind, ids, timing, failures)
    ids = [one["GroupId"] for one in found.groups]
    _each(ec2, "delete_security_group", "GroupId", "security-group", ids, timing, failures)


def _copies(ec2: Edge, found: Inventory, timing: AwsTiming, failures: _Failures) -> None:
    """Images before the snapshots that they are made of; only those that a person named."""
    ids = [one["ImageId"] for one in found.images]
    _each(ec2, "deregister_image", "ImageId", "image", ids, timing, failures)
    ids = [one["SnapshotId"] for one in found.snapshots]
    _each(ec2, "delete_snapshot", "SnapshotId", "snapshot", ids, timing, failures)


def _each(
    ec2: Edge,
    operation: str,
    parameter: str,
    kind: str,
    ids: Sequence[str],
    timing: AwsTiming,
    failures: _Failures,
) -> None:
    """Delete all things of a kind, one after the other."""
    for one in ids:
        _delete(ec2, operation, {parameter: one}, f"{kind} {one}", timing, failures)


def _keys(ec2: Edge, found: Inventory, failures: _Failures) -> None:
    for key in found.keys:
        what = f"key-pair {key['KeyName']}"
        try:
            ec2.call("delete_key_pair", {"KeyName": key["KeyName"]})
        except DiskbenchError as error:
            if not is_missing(error):
                failures.note(what, error)


def _delete(
    ec2: Edge,
    operation: str,
    request: dict[str, str],
    what: str,
    timing: AwsTiming,
    failures: _Failures,
) -> None:
    """Delete one thing, again while something still hangs on it; one that is gone is as well."""

    def ask() -> bool | Still:
        try:
            ec2.call(operation, request)
        except DiskbenchError as error:
            if is_missing(error):
                return True
            if error_code(error) in _LATER:
                return Still(error.message)
            raise
        return True

    try:
        until(ask, what, timing.delete_s, timing)
    except DiskbenchError as error:
        failures.note(what, error)
