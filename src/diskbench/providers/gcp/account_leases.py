"""All leases of a project, and the reason why a lease's machine is gone."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError
from diskbench.model.ours import Which
from diskbench.providers.gcp.inventory import (
    LIVE,
    expiry_of,
    inventory,
    lease_of,
    owner_of,
    place,
    zone_of,
)
from diskbench.providers.gcp.requests import name_of
from diskbench.providers.gcp.teardown import release
from diskbench.providers.skeleton.leases import Tagged, by_lease, giving_back

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.rental import Found, Scope
    from diskbench.providers.gcp.client import Compute, GcpSessions, Item
    from diskbench.providers.gcp.timing import GceTiming


def found_leases(sessions: GcpSessions, scope: Scope, timing: GceTiming) -> Sequence[Found]:
    """See ports.Renter.found. A lease belongs to a region when one of its resources is in a zone
    of the region or in no zone."""
    compute = sessions.of_scope(scope, timing)
    items: dict[str, list[Item]] = {}
    tagged = []
    for kind_and_name, item in inventory(compute).resources():
        lease_id = lease_of(item)
        assert lease_id is not None, "only what carries a lease is listed"
        items.setdefault(lease_id, []).append(item)
        tagged.append(
            Tagged(lease_id, kind_and_name, item["name"], expiry_of(item), owner_of(item))
        )
    here = scope.model_copy(update={"account": compute.project, "region": None})
    return [
        lease for lease in by_lease(here, tagged) if _is_in(scope.region, items[lease.lease_id])
    ]


def _is_in(region: str | None, items: Sequence[Item]) -> bool:
    zones = {zone_of(item) for item in items} - {""}
    return region is None or not zones or any(z.rpartition("-")[0] == region for z in zones)


def release_lease(sessions: GcpSessions, which: Which, scope: Scope, timing: GceTiming) -> None:
    """Release a lease in all zones of its project. Raises one ReleaseFailed for all."""
    with giving_back(which.lease_id):
        release(sessions.of_scope(scope, timing), which)


def why_gone(lease_id: str, sessions: GcpSessions, scope: Scope, timing: GceTiming) -> str | None:
    """The reason why the lease's machine is gone; None while it may answer. Raises diskbench's
    errors."""
    compute = sessions.of_scope(scope, timing)
    listing = inventory(compute, Which(lease_id))
    if listing.live:
        return None
    why = _last_end(lease_id, compute)
    stopped = [instance for instance in listing.instances if instance.get("status") not in LIVE]
    if stopped:
        state = str(stopped[0].get("status")).lower()
        reason = str(stopped[0].get("statusMessage") or why or "Google gives no reason")
        return f"{place(stopped[0])} is {state}: {reason}"
    return f"Google lists no machine of lease {lease_id}{f': {why}' if why else ''}"


def _last_end(lease_id: str, compute: Compute) -> str:
    """The last operation on the lease's machine and its author: `compute.instances.preempted by
    system`; "" where unknown."""
    machine = name_of(lease_id, "machine")
    request = {"filter": f'targetLink eq ".*/instances/{machine}"'}
    with contextlib.suppress(DiskbenchError):
        operations = [
            operation
            for operation in compute.listed_everywhere(
                "globalOperations", request, holds="operations"
            )
            if operation.get("operationType") not in {"insert", "attachDisk", "setDiskAutoDelete"}
        ]
        if operations:
            newest = max(operations, key=lambda operation: str(operation.get("insertTime", "")))
            message = newest.get("statusMessage") or newest.get("operationType")
            return f"{message} by {newest.get('user', 'nobody we know')}"
    return ""
