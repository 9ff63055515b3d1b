"""All leases of an account, in one region or in all its enabled regions, and the reason why a
lease's machine is gone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from diskbench.errors import InvalidValue, ReleaseFailed
from diskbench.model.ours import Which
from diskbench.providers.aws.inventory import (
    expiry_of,
    inventory,
    kind_and_id,
    lease_of,
    owner_of,
    resource_name,
    why_ended,
)
from diskbench.providers.aws.teardown import release
from diskbench.providers.skeleton.leases import Tagged, by_lease, giving_back

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.rental import Found, Scope
    from diskbench.providers.aws.client import AwsSessions
    from diskbench.providers.aws.timing import AwsTiming

_AT_ONCE = 8
_ANY_REGION = "us-east-1"
"""The region that lists all regions when none is known; every account of the public cloud has
it."""


def found_leases(sessions: AwsSessions, scope: Scope, timing: AwsTiming) -> Sequence[Found]:
    """See ports.Renter.found; without a region, all enabled regions are searched."""
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
        aws = sessions.of_scope(scope, timing, _ANY_REGION)
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
