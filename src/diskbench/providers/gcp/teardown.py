"""Giving back everything of a lease, in the order of dependence, to the end."""

from __future__ import annotations

import shutil
import uuid
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, ReleaseFailed
from diskbench.providers.gcp import requests
from diskbench.providers.gcp.describe import describe
from diskbench.providers.gcp.errors import is_busy, is_missing
from diskbench.providers.gcp.inventory import inventory, place, zone_of
from diskbench.providers.gcp.operations import finish, last
from diskbench.providers.places import lease_directory
from diskbench.providers.waits import Still, until

if TYPE_CHECKING:
    from diskbench.model.ours import Which
    from diskbench.providers.gcp.edge import Compute, Item
    from diskbench.providers.gcp.inventory import Inventory

_ROUNDS = 3
"""How often the listing is worked off: an `acquire` under way may add to it meanwhile."""

Failures = dict[str, str]
"""What could not be given back, and why."""


def release(compute: Compute, which: Which) -> None:
    """Give back all that is meant of a lease in the project; nothing there is as well.

    Everything is tried; raises ReleaseFailed once, naming what the last listing still shows.
    """
    lease_id = which.lease_id
    directory = lease_directory(lease_id)
    failures: Failures = {}
    for _ in range(_ROUNDS):
        found = _listed(compute, which)
        if not found.names():
            break
        for collection, items in (
            ("instances", found.instances), ("disks", found.disks), ("firewalls", found.rules),
        ):  # fmt: skip
            give_back(compute, lease_id, collection, items, failures)
        if failures:
            break
    which.warn(found.others)
    left = () if not found.names() else _listed(compute, which).names()
    if left:
        told = "; ".join(f"{what} ({failures.get(what, 'still listed')})" for what in left)
        raise _failed(lease_id, compute, told)
    if not which.copied:
        shutil.rmtree(directory, ignore_errors=True)


def _listed(compute: Compute, which: Which) -> Inventory:
    """What there is of the lease. Raises ReleaseFailed."""
    try:
        return inventory(compute, which)
    except DiskbenchError as error:
        raise _failed(
            which.lease_id, compute, "what is there could not be listed", error
        ) from error


def _failed(
    lease_id: str, compute: Compute, told: str, error: DiskbenchError | None = None
) -> ReleaseFailed:
    why = f": {error.message}" if error else ""
    first = f"{error.advice}; then: " if error and error.advice else ""
    return ReleaseFailed(
        f"not given back in project {compute.project}: {told}{why}",
        advice=f"{first}diskbench gc {lease_id}; they cost money until then",
    )


def give_back(
    compute: Compute,
    lease_id: str,
    collection: str,
    items: tuple[Item, ...],
    failures: Failures,
) -> None:
    """Delete all of `items` at a time, then wait for each; what resists goes to `failures`."""
    kind = collection.removesuffix("s")
    started: list[tuple[str, Item, Item | None]] = []
    for item in items:
        what = f"{kind} {place(item) if zone_of(item) else item['name']}"
        try:
            started.append((what, item, _start(compute, lease_id, collection, item)))
        except DiskbenchError as error:
            if is_busy(error):
                started.append((what, item, None))
            elif not is_missing(error):
                failures[what] = error.message
    for what, item, operation in started:
        try:
            _end(compute, lease_id, collection, item, what, operation)
        except DiskbenchError as error:
            failures[what] = error.message


def _start(compute: Compute, lease_id: str, collection: str, item: Item) -> Item:
    kind = collection.removesuffix("s")
    where = {"zone": zone_of(item)} if zone_of(item) else {}
    request = requests.delete(lease_id, {**where, kind: item["name"]}, uuid.uuid4().hex)
    return compute.call(collection, "delete", request)


def _end(
    compute: Compute,
    lease_id: str,
    collection: str,
    item: Item,
    what: str,
    operation: Item | None,
) -> None:
    """See one deletion through, again while something still hangs on the thing; one that is gone
    is as well."""
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
    """How it is with something that cannot be deleted yet; True when it is gone."""
    if not zone_of(item):
        return None
    now = describe(compute, collection, zone_of(item), item["name"])
    if now is None:
        return True
    users = ", ".join(last(str(user)) for user in now.get("users", []))
    state = str(now.get("status", "there")).lower()
    return Still(f"{state}, in use by {users}" if users else state)
