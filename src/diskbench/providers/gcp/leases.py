"""What leases have at Google Cloud: as listed, never remembered, and as requested, by the
operations that Compute Engine keeps; their release; and what ended a machine.

An operation is listed as soon as its request was accepted, and for days; a listing of resources may
not show yet what it made. So a release and the choice of a zone use both.
"""

import contextlib
import re
import uuid
from collections.abc import Collection, Iterable

from diskbench.errors import DiskbenchError
from diskbench.model.rental import Which
from diskbench.providers.gcp import requests
from diskbench.providers.gcp.client import Compute, Item, finish, last
from diskbench.providers.gcp.errors import is_busy, is_missing, of_operation
from diskbench.providers.skeleton import leases as skeleton
from diskbench.providers.skeleton.leases import Failures, Lag, Listed, noting, parted
from diskbench.providers.skeleton.provision import name_of
from diskbench.providers.waits import Still, until

STARTING = frozenset({"PROVISIONING", "STAGING"})
LIVE = STARTING | {"RUNNING"}


def live_in(listing: Listed) -> list[Item]:
    """The running and starting instances, oldest first."""
    going = [item for item in listing.of("instance") if item.get("status") in LIVE]
    return sorted(going, key=lambda item: str(item.get("creationTimestamp")))


def inventory(compute: Compute, which: Which | None = None) -> Listed:
    """Instances (stopped ones too: their disks cost money), disks, firewall rules and snapshots of
    one lease, or all that carry the label of any lease, in all zones of the project, by kind and
    name: `disk ZONE/NAME`. Raises diskbench's errors."""
    lease_id = which.lease_id if which else None
    request = requests.of_lease(lease_id)
    # Firewall rules have no labels to filter by, and a project has a few hundred at most.
    by_name = {"filter": f"name={name_of(lease_id, 'ssh')}"} if lease_id else None
    listed = {
        "instances": compute.listed_everywhere("instances", request),
        "disks": compute.listed_everywhere("disks", request),
        "firewalls": compute.listed("firewalls", by_name),
        "snapshots": compute.listed("snapshots", request),
    }
    # Whose they are is checked again, because listed resources get deleted.
    marked = [
        mark(kind_and_name(collection, item), item)
        for collection, items in listed.items()
        for item in items
    ]
    carrying = {one.told: one.item for one in marked if one and lease_id in {None, one.lease_id}}
    if which is None:
        return Listed(carrying)
    return parted(carrying, lambda name, item: which.takes(item["name"], name))


def scope_of(item: Item) -> str:
    """The resource's zone, or its region where it is in several; "" for a global resource."""
    return last(str(item.get("zone") or item.get("region", "")))


def place(item: Item) -> str:
    """Zone (or region) and name, as shown to the user; of a global resource its name."""
    scope = scope_of(item)
    return f"{scope}/{item['name']}" if scope else str(item["name"])


def kind_and_name(collection: str, item: Item) -> str:
    """`disk ZONE/NAME`, `firewall NAME`."""
    return f"{collection.removesuffix('s')} {place(item)}"


def mark(told: str, item: Item) -> skeleton.Tagged | None:
    """The resource that is `told` by kind and name; None where neither its labels nor (of a
    firewall rule) its description names a lease. A rule has no owner."""
    if rule := requests.lease_of_rule(item):
        return skeleton.Tagged(rule[0], told, item["name"], rule[1], item=item)
    return skeleton.tagged(item.get("labels", {}), told, item["name"], item)


def attached(instance: Item, disk_name: str) -> Item | None:
    """The attachment of a disk to an instance."""
    disks: list[Item] = instance.get("disks", [])
    return next((d for d in disks if last(str(d.get("source", ""))) == disk_name), None)


def describe(compute: Compute, collection: str, scope: str, name: str) -> Item | None:
    """The present state of an instance or a disk; None when it does not exist."""
    where, request = requests.addressed(collection, scope, name)
    return compute.found(where, request)


MADE = ("instances", "disks", "firewalls", "snapshots")
"""The collections in which diskbench makes something itself, in order of dependence."""


def sent(compute: Compute, lease_id: str) -> dict[str, Item]:
    """The resources of a lease whose creation was accepted and has not failed, and whose deletion
    was not, by kind and name as in the inventory. What went with its machine is among them. Raises
    diskbench's errors."""
    request = {"filter": f'targetLink eq ".*/diskbench-{lease_id}-[a-z0-9-]+"'}
    listed = compute.listed_everywhere("globalOperations", request, holds="operations")
    return still_made(listed)


def still_made(operations: Iterable[Item]) -> dict[str, Item]:
    """The resources that the last operation on each of them left, by kind and name: pure."""
    resources: dict[str, Item] = {}
    for operation in sorted(operations, key=lambda operation: str(operation.get("insertTime", ""))):
        target = linked(str(operation.get("targetLink", "")))
        if target is None or of_operation(operation, "operations.list") is not None:
            continue
        name, item = target
        kind = str(operation.get("operationType", ""))
        if kind == "insert":
            resources[name] = item
        elif kind == "delete" and operation.get("status") == "DONE":
            resources.pop(name, None)
    return resources


def linked(link: str) -> tuple[str, Item] | None:
    """Kind and name of what a link names, and it in the form of a listing, with name and place
    only; None for what diskbench makes none of."""
    collection = last(link.rpartition("/")[0])
    scope = re.search("/(zone|region)s/([^/]+)/", link)
    item = {"name": last(link), **({scope[1]: scope[2]} if scope else {})}
    return (kind_and_name(collection, item), item) if collection in MADE else None


def release(compute: Compute, which: Which) -> None:
    """Release the resources of a lease in the project; see skeleton.leases.release.

    A resource whose request was sent and that is not listed is deleted by its name; the answer says
    whether it exists."""

    def list_lease(deleted: Collection[str]) -> Listed:
        listed = inventory(compute, which)
        if which.copied:
            return listed
        unlisted = {
            name: item
            for name, item in sent(compute, which.lease_id).items()
            if name not in {*deleted, *listed.meant} and which.takes(item["name"], name)
        }
        return Listed({**listed.meant, **unlisted}, listed.others)

    def work_off(listing: Listed, failures: Failures) -> None:
        for collection in MADE:
            give_back(compute, which.lease_id, collection, listing, failures)

    skeleton.release(which, f"project {compute.project}", list_lease, work_off, lag=lag_of(compute))


def lag_of(compute: Compute) -> Lag:
    """How far listings may be behind: what was deleted may still be in them; what was made is known
    by its operation."""
    timing = compute.timing
    return Lag(timing, lambda _: None, listed_s=timing.appear_s, watch=compute.watch)


def give_back(
    compute: Compute, lease_id: str, collection: str, listing: Listed, failures: Failures
) -> None:
    """Start the deletion of all of a collection, then wait for each; failures are added to
    `failures`. Where something was not deleted before, what it may use is not waited for."""
    started: list[tuple[str, Item, Item | None]] = []
    for item in listing.of(collection.removesuffix("s")):
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
    limit_s, scope = compute.timing.delete_s, scope_of(item)

    def ask() -> bool | Still:
        nonlocal operation
        try:
            started = operation or _start(compute, lease_id, collection, item)
            operation = None
            finish(compute, started, f"compute.{collection}.delete", what, limit_s)
        except DiskbenchError as error:
            if is_missing(error):
                return True
            if not is_busy(error):
                raise
            if not scope:
                return Still(error.message)
            now = describe(compute, collection, scope, item["name"])
            if now is None:
                return True
            users = ", ".join(last(str(user)) for user in now.get("users", []))
            state = str(now.get("status", "there")).lower()
            return Still(f"{state}, in use by {users}" if users else state)
        return True

    until(ask, what, limit_s, compute.timing, compute.watch)


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
