"""The leases of a project, and the end of one: found, released in the order of dependence, and the
reason why a lease's machine is gone."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Collection, Sequence

from diskbench.errors import DiskbenchError
from diskbench.model.rental import Found, Scope, Which
from diskbench.providers.gcp import requests
from diskbench.providers.gcp.client import Compute, GceTiming, GcpSessions, Item, finish, last
from diskbench.providers.gcp.errors import is_busy, is_missing
from diskbench.providers.gcp.inventory import (
    LIVE,
    GcpInventory,
    describe,
    expiry_of,
    inventory,
    lease_of,
    owner_of,
    place,
    scope_of,
    sent,
)
from diskbench.providers.gcp.requests import name_of
from diskbench.providers.skeleton import leases as skeleton
from diskbench.providers.skeleton.leases import Failures, Lag, Tagged, by_lease, noting
from diskbench.providers.waits import Still, until

_ORDER = (
    ("instances", "instances"),
    ("disks", "disks"),
    ("firewalls", "rules"),
    ("snapshots", "snapshots"),
)
"""Collections in order of dependence, each with its field of Inventory."""


def release(compute: Compute, which: Which) -> None:
    """Release the resources of a lease in the project; see skeleton.leases.release.

    A resource whose request was sent and that is not listed is deleted by its name; the answer says
    whether it exists."""

    def list_lease(deleted: Collection[str]) -> GcpInventory:
        listed = inventory(compute, which)
        if which.copied:
            return listed
        unlisted = [
            resource
            for resource in sent(compute, which.lease_id)
            if resource.kind_and_name not in deleted
            and which.takes(resource.name, resource.kind_and_name)
        ]
        return listed.also(unlisted)

    def work_off(listing: GcpInventory, failures: Failures) -> None:
        for collection, field in _ORDER:
            give_back(compute, which.lease_id, collection, getattr(listing, field), failures)

    skeleton.release(which, f"project {compute.project}", list_lease, work_off, lag=lag_of(compute))


def lag_of(compute: Compute) -> Lag[GcpInventory]:
    """How far listings may be behind: what was deleted may still be in them; what was made is known
    by its operation."""
    timing = compute.timing
    return Lag(timing, lambda _: None, listed_s=timing.appear_s, watch=compute.watch)


def give_back(
    compute: Compute,
    lease_id: str,
    collection: str,
    items: tuple[Item, ...],
    failures: Failures,
) -> None:
    """Start the deletion of all `items`, then wait for each; failures are added to `failures`.
    Where something was not deleted before, what it may use is not waited for."""
    kind = collection.removesuffix("s")
    started: list[tuple[str, Item, Item | None]] = []
    for item in items:
        what = f"{kind} {place(item) if scope_of(item) else item['name']}"
        try:
            started.append((what, item, _start(compute, lease_id, collection, item)))
        except DiskbenchError as error:
            if is_busy(error) and not failures:
                started.append((what, item, None))
            elif not is_missing(error):
                failures[what] = error.message
    for what, item, operation in started:
        with noting(failures, what, is_missing):
            _end(compute, lease_id, collection, item, what, operation)


def _start(compute: Compute, lease_id: str, collection: str, item: Item) -> Item:
    where, named = requests.addressed(collection, scope_of(item), item["name"])
    return compute.call(where, "delete", requests.delete(lease_id, named, uuid.uuid4().hex))


def _end(
    compute: Compute,
    lease_id: str,
    collection: str,
    item: Item,
    what: str,
    operation: Item | None,
) -> None:
    """Complete one deletion, repeating it while the resource is in use; succeeds if it is gone."""
    limit_s, timing = compute.timing.delete_s, compute.timing
    action = f"compute.{collection}.delete"

    def ask() -> bool | Still:
        nonlocal operation
        try:
            started = operation or _start(compute, lease_id, collection, item)
            operation = None
            finish(compute, started, action, what, limit_s)
        except DiskbenchError as error:
            if is_missing(error):
                return True
            if is_busy(error):
                return _state(compute, collection, item) or Still(error.message)
            raise
        return True

    until(ask, what, limit_s, timing, compute.watch)


def _state(compute: Compute, collection: str, item: Item) -> bool | Still | None:
    """The state of a resource that cannot be deleted yet; True when it is gone."""
    if not scope_of(item):
        return None
    now = describe(compute, collection, scope_of(item), item["name"])
    if now is None:
        return True
    users = ", ".join(last(str(user)) for user in now.get("users", []))
    state = str(now.get("status", "there")).lower()
    return Still(f"{state}, in use by {users}" if users else state)


def found_leases(sessions: GcpSessions, scope: Scope, timing: GceTiming) -> Sequence[Found]:
    """The leases at `scope`. A lease belongs to a region when one of its resources is in a zone
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
    scopes = {scope_of(item) for item in items} - {""}
    return region is None or not scopes or any(f"{s}-".startswith(f"{region}-") for s in scopes)


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
