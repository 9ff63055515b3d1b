"""The leases of a subscription, by the tags of resource groups, and the end of one: by Azure's own
switch, extended, released. A release deletes the lease's groups, each with one call. An extension
moves, in this order, the guest's timer, the shutdown schedule, the tags of the group's resources,
and last the group's tag, which `found` reads.

A guest that powers itself off is still billed, because Azure keeps its capacity reserved: a
schedule of Microsoft.DevTestLab, the portal's "Auto-shutdown", deallocates the machine. It fires
daily at a time of day, so only leases that end within a day have one. Resource:
learn.microsoft.com, "Microsoft.DevTestLab/schedules" 2018-09-15, type ComputeVmShutdownTask, with
the name below."""

import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta

from diskbench.errors import DiskbenchError, Interrupted
from diskbench.model.rental import LeaseEnd, Which
from diskbench.providers.azure import requests
from diskbench.providers.azure.client import DISKS, MACHINES, SCHEDULES, TAGS, AzureClient, Item
from diskbench.providers.azure.errors import is_missing
from diskbench.providers.azure.provision import delete
from diskbench.providers.skeleton import leases as skeleton
from diskbench.providers.skeleton.cloud import unless_missing
from diskbench.providers.skeleton.leases import (
    EXPIRES_TAG,
    LEASE_TAG,
    Failures,
    Lag,
    Listed,
    noting,
    parted,
)
from diskbench.providers.skeleton.provision import name_of

SHUTDOWN = "shutdown-computevm-"
"""The name of a machine's schedule begins so, as Azure demands."""


def is_ours(group: Item) -> bool:
    """Whether a group was made for the lease in its tag, by its name."""
    return str(group["name"]).lower() == requests.group_name(str(lease_of(group))).lower()


def group_kind_and_name(group: Item) -> str:
    """`resource-group NAME`."""
    return f"resource-group {group['name']}"


def tagged_groups(edge: AzureClient, lease_id: str | None = None) -> list[Item]:
    """The groups that carry the tag of a lease, or of any. Raises diskbench's errors."""
    query = {"$filter": requests.of_lease(lease_id)}
    groups = edge.listed(f"{edge.path()}/resourceGroups", query)
    # The filter is applied by Azure; the tags themselves decide.
    return [group for group in groups if lease_of(group) and lease_id in {None, lease_of(group)}]


def inside(edge: AzureClient, group: str) -> list[Item]:
    """The resources in a group; none for a group that is gone. Raises diskbench's errors."""
    return unless_missing(lambda: edge.listed(f"{edge.path(group)}/resources"), is_missing) or []


def kind_and_name(item: Item) -> str:
    """`virtualMachines NAME`."""
    return f"{str(item.get('type', 'resource')).partition('/')[2] or 'resource'} {item['name']}"


def own_content(edge: AzureClient, lease_id: str, group: Item) -> list[Item]:
    """The resources in a group, without what somebody else put there. Raises diskbench's errors."""
    content = inside(edge, str(group["name"]))
    return [item for item in content if not is_strange(lease_id, item)]


def is_strange(lease_id: str, item: Item) -> bool:
    """Whether somebody else put a resource into a lease's group: by its name. Azure names a
    machine's own resources (shutdown schedule, extensions) after the machine."""
    ours = name_of(lease_id, "").lower()
    return not str(item["name"]).lower().startswith((ours, f"{SHUTDOWN}{ours}"))


def lease_of(item: Item) -> str | None:
    """The lease in the resource's tags."""
    return (item.get("tags") or {}).get(LEASE_TAG) or None


def is_kind(item: Item, kind: str) -> bool:
    """Whether a listed resource is of a kind; Azure writes kinds in several cases."""
    return str(item.get("type")).lower() == kind.lower()


def release(edge: AzureClient, which: Which, *, just_made: bool = False) -> None:
    """Release the resources of a lease; see skeleton.leases.release. `just_made` says that a call
    to make something may have been sent only just now, so that one empty listing proves nothing. A
    group is deleted with its content, so a group with a resource of somebody else stays: its
    machine and disks are deleted, and the failure names the foreign resource."""

    def list_lease(_: Collection[str]) -> Listed:
        groups = {group_kind_and_name(group): group for group in _groups(edge, which)}
        copied = which.copied  # a group's name is unique in the subscription
        return parted(groups, lambda name, group: name in copied if copied else is_ours(group))

    def unlisted_s(first: Listed) -> float | None:
        return edge.timing.settle_s if just_made and not first.meant else None

    def give_back(listing: Listed, failures: Failures) -> None:
        for name, group in listing.meant.items():
            if why := _give_back(edge, which, group):
                failures[name] = why

    def tell(name: str) -> str:
        """Describe a group with its content: the content costs money."""
        try:
            content = inside(edge, name.partition(" ")[2])
        except DiskbenchError:
            content = []
        return ", ".join([name, *(kind_and_name(item) for item in content)])

    lag = Lag(edge.timing, unlisted_s, listed_s=edge.timing.settle_s, watch=edge.watch)
    skeleton.release(which, edge.azure.subscription, list_lease, give_back, tell, lag=lag)


def _groups(edge: AzureClient, which: Which) -> list[Item]:
    """The groups with the lease's tag, and the group with its name, which a listing by tag may not
    show yet."""
    groups = tagged_groups(edge, which.lease_id)
    if any(is_ours(group) for group in groups):
        return groups
    own = edge.find(edge.path(requests.group_name(which.lease_id)))
    return [*groups, own] if own and lease_of(own) == which.lease_id else groups


def _give_back(edge: AzureClient, which: Which, group: Item) -> str:
    """Delete one group, or our resources in it; returns why it still exists, or an empty string."""
    name = str(group["name"])
    try:
        items = [] if which.copied else inside(edge, name)
    except DiskbenchError as error:
        return f"what is in it could not be listed: {error.message}"
    strange = [item for item in items if is_strange(which.lease_id, item)]
    failures: Failures = {}
    if not strange:
        with noting(failures, name, is_missing):
            # Machines are not shut down cleanly first: their data are not needed.
            edge.finished(
                group_kind_and_name(group), edge.timing.delete_s, "DELETE", edge.path(name),
                query={"forceDeletionTypes": MACHINES},
            )  # fmt: skip
        return failures.get(name, "")
    # Machines and disks are deleted one by one, since they cost most.
    for kind, query in ((MACHINES, {"forceDeletion": "true"}), (DISKS, {})):
        for item in items:
            if is_kind(item, kind) and item not in strange:
                with noting(failures, kind_and_name(item), is_missing):
                    delete(edge, edge.path(name, kind, str(item["name"])), query)
    names = ", ".join(kind_and_name(item) for item in strange)
    why = [f"{what}: {reason}" for what, reason in failures.items()]
    return "; ".join([f"it holds {names}, not made by diskbench: move that elsewhere", *why])


def moved(edge: AzureClient, lease_id: str, group: Item, end: LeaseEnd) -> None:
    """Move the end of a lease in the schedule and the tags of a group; other tags, and resources
    that somebody else put into it, stay. The schedule is disabled where `end` is more than a day
    away: a daily one would fire too early. An existing one must be moved: raises diskbench's
    errors. Where there is none, because the lease was too long or Azure refused it, it is made as
    by `arm`."""
    content, expiry = own_content(edge, lease_id, group), str(int(end.expires_at))
    machine_name = name_of(lease_id, "machine").lower()
    found = (item for item in content if is_kind(item, MACHINES))
    machine = next((item for item in found if str(item["name"]).lower() == machine_name), None)
    if machine is not None:
        fits = end.left_s <= LONGEST_S
        carried = {**(machine.get("tags") or {}), EXPIRES_TAG: expiry}
        where = (str(machine["location"]), str(machine["id"]))
        request = schedule(carried, *where, end.expires_at, on=fits)
        if any(is_kind(item, SCHEDULES) for item in content):
            _put(edge, request)
        elif fits:
            _armed(edge, request)
    ours = [item for item in content if lease_of(item) == lease_id and not is_kind(item, SCHEDULES)]
    tagged = [(kind_and_name(item), item) for item in ours]
    merge = {"operation": "Merge", "properties": {"tags": {EXPIRES_TAG: expiry}}}
    for what, item in [*tagged, (group_kind_and_name(group), group)]:
        path, limit_s = f"{item['id']}/providers/{TAGS}/default", edge.timing.network_s
        edge.finished(f"tags of {what}", limit_s, "PATCH", path, merge)


LONGEST_S = 24 * 3600 - 3600
"""The longest lease that a daily time can express: a day less an hour for the grace."""
_GRACE = timedelta(minutes=15)
"""Grace after the lease's end, so that a timely release comes first; our choice."""
SCHEDULE_MADE = "schedule"
"""The result of `arm` where the schedule is made."""


def schedule(
    carried: Mapping[str, str], region: str, machine_id: str, expires_at: float, *, on: bool = True
) -> requests.Request:
    """The schedule that deallocates the machine when the lease ends: pure. Without `on` it is
    disabled."""
    when = datetime.fromtimestamp(expires_at, UTC) + _GRACE
    return {
        "location": region,
        "tags": dict(carried),
        "properties": {
            "status": "Enabled" if on else "Disabled",
            "taskType": "ComputeVmShutdownTask",
            "dailyRecurrence": {"time": when.strftime("%H%M")},
            "timeZoneId": "UTC",
            "targetResourceId": machine_id,
            "notificationSettings": {"status": "Disabled"},
        },
    }


def arm(order: requests.AzureOrder, machine_id: str) -> str:
    """Make the schedule and return `schedule`, or the reason why there is none, noted for a person.
    A failure does not fail the run: the guest has a timer, and the tags hold the expiry."""
    claim, machine = order.claim, order.machine_name
    armed = "none: a daily schedule cannot express so long a lease"
    if claim.expires_at - time.time() <= LONGEST_S:
        where = (order.details.region, machine_id)
        armed = _armed(order.edge, schedule(requests.tags(claim), *where, claim.expires_at))
    order.watch.note(
        f"Azure deallocates {machine} after the lease: its shutdown schedule is set"
        if armed == SCHEDULE_MADE
        else f"WARNING: Azure will not deallocate {machine} after the lease ({armed}). If this "
        "computer fails, the machine is billed until a diskbench command opens this database "
        "again, or until diskbench gc runs"
    )
    return armed


def _armed(edge: AzureClient, request: requests.Request) -> str:
    try:
        _put(edge, request)
    except Interrupted:
        raise
    except DiskbenchError as error:
        return f"none: {error.message}"
    return SCHEDULE_MADE


def _put(edge: AzureClient, request: requests.Request) -> None:
    """Make or replace the schedule of the machine that it is for."""
    machine_id = str(request["properties"]["targetResourceId"])
    group, *_, machine = machine_id.rsplit("/", 4)  # GROUP/providers/Microsoft.Compute/KIND/NAME
    name = f"{SHUTDOWN}{machine}"
    path = f"{group}/providers/{SCHEDULES}/{name}"
    edge.finished(f"schedule {name}", edge.timing.network_s, "PUT", path, request)
