"""All leases of a subscription, by the tags of its resource groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.model.rental import Found
from diskbench.providers.azure.inventory import (
    expiry_of,
    inside,
    is_ours,
    is_strange,
    lease_of,
    owner_of,
    tagged_groups,
    told,
    told_group,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.rental import Scope
    from diskbench.providers.azure.client import AzureClient, Item


def found(edge: AzureClient, scope: Scope) -> Sequence[Found]:
    """See ports.Renter.found. A lease's group has one name, so each group is either the lease's
    own or a copy of its tags."""
    leases: dict[str, Found] = {}
    for group in tagged_groups(edge):
        region = str(group.get("location", "")).lower()
        if scope.region not in {None, region}:
            continue
        lease_id = str(lease_of(group))
        here = scope.model_copy(update={"region": region})
        before = leases.get(lease_id) or Found(lease_id=lease_id, scope=here)
        leases[lease_id] = before.model_copy(update=_added(edge, before, group, here))
    return [leases[lease_id] for lease_id in sorted(leases)]


def _added(edge: AzureClient, before: Found, group: Item, here: Scope) -> dict[str, object]:
    """The lease's record, updated with one group that carries its tag."""
    if not is_ours(group):
        return {"not_ours": (*before.not_ours, told_group(group))}
    held = [item for item in inside(edge, group) if not is_strange(before.lease_id, item)]
    return {
        "scope": here,
        "expires_at": expiry_of(group),
        "owner": owner_of(group),
        "resources": (told_group(group), *(told(item) for item in held)),
    }
