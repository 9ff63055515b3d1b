"""All leases of a subscription, by the tags of its resource groups, and the reason why a lease's
machine is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.model.rental import Found
from diskbench.providers.azure.inventory import (
    STOPPED,
    expiry_of,
    group_kind_and_name,
    inside,
    is_ours,
    is_strange,
    kind_and_name,
    lease_of,
    owner_of,
    power_of,
    read_machine,
    state_of,
    tagged_groups,
    why,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.rental import Scope
    from diskbench.providers.azure.client import AzureClient, AzureSessions, Item
    from diskbench.providers.azure.timing import AzureTiming


def found_leases(sessions: AzureSessions, scope: Scope, timing: AzureTiming) -> Sequence[Found]:
    """See ports.Renter.found. One listing covers all regions of a subscription. A lease's group has
    one name, so each group is either the lease's own or a copy of its tags."""
    azure = sessions.of_scope(scope)
    edge = azure.edge(timing)
    leases: dict[str, Found] = {}
    for group in tagged_groups(edge):
        region = str(group.get("location", "")).lower()
        if scope.region not in {None, region}:
            continue
        lease_id = str(lease_of(group))
        here = scope.model_copy(update={"account": azure.subscription, "region": region})
        before = leases.get(lease_id) or Found(lease_id=lease_id, scope=here)
        leases[lease_id] = before.model_copy(update=_added(edge, before, group, here))
    return [leases[lease_id] for lease_id in sorted(leases)]


def _added(edge: AzureClient, before: Found, group: Item, here: Scope) -> dict[str, object]:
    """The lease's record, updated with one group that carries its tag."""
    if not is_ours(group):
        return {"not_ours": (*before.not_ours, group_kind_and_name(group))}
    content = [item for item in inside(edge, group) if not is_strange(before.lease_id, item)]
    return {
        "scope": here,
        "expires_at": expiry_of(group),
        "owner": owner_of(group),
        "resources": (group_kind_and_name(group), *(kind_and_name(item) for item in content)),
    }


def why_gone(
    lease_id: str, sessions: AzureSessions, scope: Scope, timing: AzureTiming
) -> str | None:
    """The reason why the lease's machine is gone; None while it may answer. Raises diskbench's
    errors."""
    machine = read_machine(sessions.of_scope(scope).edge(timing), lease_id)
    if machine is None:
        return f"Azure lists no machine of lease {lease_id}"
    state = state_of(machine)
    if state in {"Failed", "Deleting"}:
        return f"{machine['name']} is {state.lower()}: {why(machine)}"
    if (power := power_of(machine)) in STOPPED:
        return f"{machine['name']} is {power}: {why(machine)}"
    return None
