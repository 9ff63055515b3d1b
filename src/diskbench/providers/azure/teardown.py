"""Giving back everything of a lease: its resource groups, found by tag, each in one delete."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, ReleaseFailed
from diskbench.providers.azure.errors import is_missing
from diskbench.providers.azure.inventory import (
    DISKS,
    GROUPS,
    MACHINES,
    inside,
    is_meant,
    is_strange,
    resources,
    tagged_groups,
    told,
    told_group,
)
from diskbench.providers.places import lease_directory

if TYPE_CHECKING:
    from diskbench.model.ours import Which
    from diskbench.providers.azure.edge import Edge, Item

_ROUNDS = 3
"""How often the listing is worked off: an `acquire` under way may add to it meanwhile."""
_FORCED = MACHINES
"""Machines are not shut down in order first: nobody needs what is on them."""


def release(edge: Edge, which: Which) -> None:
    """Give back all that is meant of a lease; nothing there is as well.

    A group is deleted with all that is in it, so one that holds something of somebody else stays:
    its machine and disks go, and the failure names what is in the way. Everything is tried; raises
    ReleaseFailed once, naming what the last listing still shows.
    """
    lease_id = which.lease_id
    left: list[Item] = []
    reasons: dict[str, str] = {}
    for _ in range(_ROUNDS):
        left = _listed(edge, which)
        if not left:
            break
        reasons = dict(_give_back(edge, which, group) for group in left)
        if any(reasons.values()):
            break
    else:
        left = _listed(edge, which)
    if left:
        raise _failed(edge, lease_id, left, reasons)
    if not which.copied:
        shutil.rmtree(lease_directory(lease_id), ignore_errors=True)


def _listed(edge: Edge, which: Which) -> list[Item]:
    lease_id = which.lease_id
    try:
        found = tagged_groups(edge, lease_id)
    except DiskbenchError as error:
        raise ReleaseFailed(
            f"not given back: what is there of {lease_id} could not be listed: {error.message}",
            advice=f"{error.advice}; then: diskbench gc {lease_id}",
        ) from error
    which.warn([told_group(one) for one in found if not is_meant(one, which)])
    return [one for one in found if is_meant(one, which)]


def _give_back(edge: Edge, which: Which, group: Item) -> tuple[str, str]:
    """Delete one group, or our things in it; its name, and why it is still there, or nothing."""
    name = str(group["name"])
    try:
        found = [] if which.copied else inside(edge, group)
    except DiskbenchError as error:
        return name, f"what is in it could not be listed: {error.message}"
    strange = [one for one in found if is_strange(which.lease_id, one)]
    if not strange:
        return _delete(edge, group)
    failures = _delete_costly(edge, name, [one for one in found if one not in strange])
    names = ", ".join(told(one) for one in strange)
    return name, "; ".join([f"it holds {names}, not made by us: move that elsewhere", *failures])


def _delete_costly(edge: Edge, group: str, ours: list[Item]) -> list[str]:
    """Delete machines and disks one by one, which cost most; why any of them is still there."""
    failures = []
    for kind, methods, limit_s, more in (
        (MACHINES, "virtual_machines", edge.timing.machine_s, {"force_deletion": True}),
        (DISKS, "disks", edge.timing.disk_s, {}),
    ):
        for one in ours:
            if str(one.get("type")).lower() != kind.lower():
                continue
            try:
                edge.finished(
                    told(one), limit_s, f"{kind}/delete",
                    "compute", f"{methods}.begin_delete", group, str(one["name"]), **more,
                )  # fmt: skip
            except DiskbenchError as error:
                if not is_missing(error):
                    failures.append(f"{told(one)}: {error.message}")
    return failures


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
    still = []
    for group in left:
        why = reasons.get(str(group["name"])) or "still listed"
        still.append(f"{', '.join(_inside(edge, group))} ({why})")
    return ReleaseFailed(
        f"not given back in {edge.azure.subscription}: {'; '.join(still)}",
        advice=f"diskbench gc {lease_id}; they cost money until then",
    )


def _inside(edge: Edge, group: Item) -> list[str]:
    try:
        return resources(edge, group)
    except DiskbenchError:
        return [told_group(group)]
