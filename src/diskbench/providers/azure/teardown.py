"""Release a lease: delete its resource groups, found by tag, each with one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError
from diskbench.providers.azure.errors import is_missing
from diskbench.providers.azure.inventory import (
    DISKS,
    GROUPS,
    MACHINES,
    group_kind_and_name,
    inside,
    is_meant,
    is_strange,
    kind_and_name,
    lease_of,
    read,
    tagged_groups,
)
from diskbench.providers.azure.put import delete
from diskbench.providers.azure.requests import group_name
from diskbench.providers.skeleton import leases as skeleton
from diskbench.providers.skeleton.leases import Lag, noting

if TYPE_CHECKING:
    from collections.abc import Collection

    from diskbench.model.ours import Which
    from diskbench.providers.azure.client import AzureClient, Item
    from diskbench.providers.skeleton.leases import Failures

_FORCED = MACHINES
"""Machines are not shut down cleanly first: their data are not needed."""


@dataclass(frozen=True)
class _Listing:
    """The lease's groups, and groups that only carry its tag."""

    groups: tuple[Item, ...]
    others: tuple[str, ...]

    def names(self) -> tuple[str, ...]:
        return tuple(group_kind_and_name(group) for group in self.groups)


def release(edge: AzureClient, which: Which, *, just_made: bool = False) -> None:
    """Release the resources of a lease; see skeleton.release. `just_made` says that a call to make
    something may have been sent only just now, so that one empty listing proves nothing.

    A group is deleted with its content, so a group with a resource of somebody else stays: its
    machine and disks are deleted, and the failure names the foreign resource.
    """

    def list_lease(_: Collection[str]) -> _Listing:
        groups = _groups(edge, which)
        meant = tuple(group for group in groups if is_meant(group, which))
        return _Listing(
            meant, tuple(group_kind_and_name(group) for group in groups if group not in meant)
        )

    def unlisted_s(first: _Listing) -> float | None:
        return edge.timing.settle_s if just_made and not first.groups else None

    def give_back(listing: _Listing, failures: Failures) -> None:
        for group in listing.groups:
            if why := _give_back(edge, which, group):
                failures[group_kind_and_name(group)] = why

    def tell(name: str) -> str:
        """Describe a group with its content: the content costs money."""
        try:
            content = inside(edge, {"name": name.partition(" ")[2]})
        except DiskbenchError:
            content = []
        return ", ".join([name, *(kind_and_name(item) for item in content)])

    lag = Lag(edge.timing, unlisted_s, listed_s=edge.timing.settle_s, watch=edge.watch)
    skeleton.release(which, edge.azure.subscription, list_lease, give_back, tell, lag=lag)


def _groups(edge: AzureClient, which: Which) -> list[Item]:
    """The groups with the lease's tag, and the group with its name, which a listing by tag may not
    show yet."""
    groups = tagged_groups(edge, which.lease_id)
    own = group_name(which.lease_id)
    if any(str(group["name"]).lower() == own.lower() for group in groups):
        return groups
    own_group = read(edge, f"{GROUPS}/read", "resources", "resource_groups.get", own)
    return (
        groups
        if own_group is None or lease_of(own_group) != which.lease_id
        else [*groups, own_group]
    )


def _give_back(edge: AzureClient, which: Which, group: Item) -> str:
    """Delete one group, or our resources in it; returns why it still exists, or an empty string."""
    name = str(group["name"])
    try:
        items = [] if which.copied else inside(edge, group)
    except DiskbenchError as error:
        return f"what is in it could not be listed: {error.message}"
    strange = [item for item in items if is_strange(which.lease_id, item)]
    if not strange:
        failures: Failures = {}
        with noting(failures, name, is_missing):
            edge.finished(
                f"resource-group {name}", edge.timing.delete_s, f"{GROUPS}/delete",
                "resources", "resource_groups.begin_delete", name, force_deletion_types=_FORCED,
            )  # fmt: skip
        return failures.get(name, "")
    why = _delete_costly(edge, name, [item for item in items if item not in strange])
    names = ", ".join(kind_and_name(item) for item in strange)
    return "; ".join([f"it holds {names}, not made by us: move that elsewhere", *why])


def _delete_costly(edge: AzureClient, group: str, ours: list[Item]) -> list[str]:
    """Delete machines and disks one by one, since they cost most; returns why any of them still
    exists."""
    failures: Failures = {}
    for kind, more in ((MACHINES, {"force_deletion": True}), (DISKS, {})):
        for item in ours:
            if str(item.get("type")).lower() == kind.lower():
                with noting(failures, kind_and_name(item), is_missing):
                    delete(edge, kind, group, str(item["name"]), **more)
    return [f"{what}: {why}" for what, why in failures.items()]
