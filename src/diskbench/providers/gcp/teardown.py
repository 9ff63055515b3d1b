"""The end of a lease: released in the order of dependence; and what ended its machine."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Collection

from diskbench.errors import DiskbenchError
from diskbench.model.rental import Which
from diskbench.providers.gcp import requests
from diskbench.providers.gcp.client import Compute, Item, finish, last
from diskbench.providers.gcp.errors import is_busy, is_missing
from diskbench.providers.gcp.inventory import (
    MADE,
    GcpInventory,
    describe,
    inventory,
    kind_and_name,
    scope_of,
    sent,
)
from diskbench.providers.skeleton import leases as skeleton
from diskbench.providers.skeleton.leases import Failures, Lag, noting
from diskbench.providers.skeleton.provision import name_of
from diskbench.providers.waits import Still, until


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
        for collection in MADE:
            give_back(compute, which.lease_id, collection, listing.of(collection), failures)

    skeleton.release(which, f"project {compute.project}", list_lease, work_off, lag=lag_of(compute))


def lag_of(compute: Compute) -> Lag[GcpInventory]:
    """How far listings may be behind: what was deleted may still be in them; what was made is known
    by its operation."""
    timing = compute.timing
    return Lag(timing, lambda _: None, listed_s=timing.appear_s, watch=compute.watch)


def give_back(
    compute: Compute, lease_id: str, collection: str, items: tuple[Item, ...], failures: Failures
) -> None:
    """Start the deletion of all `items`, then wait for each; failures are added to `failures`.
    Where something was not deleted before, what it may use is not waited for."""
    started: list[tuple[str, Item, Item | None]] = []
    for item in items:
        what = kind_and_name(collection, item)
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
    compute: Compute, lease_id: str, collection: str, item: Item, what: str, operation: Item | None
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


def last_end(lease_id: str, compute: Compute) -> str:
    """The last operation on the lease's machine and its author: `compute.instances.preempted by
    system`; "" where unknown."""
    machine = name_of(lease_id, "machine")
    request = {"filter": f'targetLink eq ".*/instances/{machine}"'}
    with contextlib.suppress(DiskbenchError):
        listed = compute.listed_everywhere("globalOperations", request, holds="operations")
        makes = {"insert", "attachDisk", "setDiskAutoDelete"}
        if operations := [one for one in listed if one.get("operationType") not in makes]:
            newest = max(operations, key=lambda operation: str(operation.get("insertTime", "")))
            message = newest.get("statusMessage") or newest.get("operationType")
            return f"{message} by {newest.get('user', 'nobody we know')}"
    return ""
