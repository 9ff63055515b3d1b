"""Giving back everything of a lease: its resource groups, found by tag, each in one delete."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, ReleaseFailed
from diskbench.providers.azure.errors import is_missing
from diskbench.providers.azure.inventory import GROUPS, groups, resources
from diskbench.providers.places import lease_directory

if TYPE_CHECKING:
    from diskbench.providers.azure.edge import Edge, Item

_ROUNDS = 3
"""How often the listing is worked off: an `acquire` under way may add to it meanwhile."""
_FORCED = "Microsoft.Compute/virtualMachines"
"""Machines are not shut down in order first: nobody needs what is on them."""


def release(edge: Edge, lease_id: str) -> None:
    """Give back all of a lease; nothing there is as well.

    Everything is tried; raises ReleaseFailed once, naming what the last listing still shows.
    """
    directory = lease_directory(lease_id)
    left: list[Item] = []
    reasons: dict[str, str] = {}
    for _ in range(_ROUNDS):
        left = _listed(edge, lease_id)
        if not left:
            break
        reasons = dict(_delete(edge, group) for group in left)
        if any(reasons.values()):
            break
    else:
        left = _listed(edge, lease_id)
    if left:
        raise _failed(edge, lease_id, left, reasons)
    shutil.rmtree(directory, ignore_errors=True)


def _listed(edge: Edge, lease_id: str) -> list[Item]:
    try:
        return groups(edge, lease_id)
    except DiskbenchError as error:
        raise ReleaseFailed(
            f"not given back: what is there of {lease_id} could not be listed: {error.message}",
            advice=f"{error.advice}; then: diskbench gc {lease_id}",
        ) from error


def _delete(edge: Edge, group: Item) -> tuple[str, str]:
    """Delete one group; its name, and why it is still there, or nothing."""
    name = str(group["name"])
    try:
        edge.finished(
            f"resource-group {name}", edge.timing.delete_s, f"{GROUPS}/delete",
            "resources", "resource_groups.begin_delete", name, force_deletion_types=_FORCED,
        )  # fmt: skip
    except DiskbenchError as error:
        return name, "" if is_missing(error) else error.message
    return name, ""


def _failed(edge: Edge, lease_id: str, left: list[Item], reasons: dict[str, str]) -> ReleaseFailed:
    told = []
    for group in left:
        why = reasons.get(str(group["name"])) or "still listed"
        told.append(f"{', '.join(_inside(edge, group))} ({why})")
    return ReleaseFailed(
        f"not given back in {edge.azure.subscription}: {'; '.join(told)}",
        advice=f"diskbench gc {lease_id}; they cost money until then",
    )


def _inside(edge: Edge, group: Item) -> list[str]:
    try:
        return resources(edge, group)
    except DiskbenchError:
        return [f"resource-group {group['name']}"]
