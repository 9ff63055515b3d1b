"""Extend a lease, in this order: the guest's timer, the shutdown schedule, the tags of the
group's resources, and last the group's tag, which `found` reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.providers.azure import deadman, requests
from diskbench.providers.azure.inventory import (
    group_kind_and_name,
    inside,
    is_ours,
    is_strange,
    kind_and_name,
    lease_of,
    tagged_groups,
)
from diskbench.providers.guest import move_timer

if TYPE_CHECKING:
    from diskbench.model.rental import LeaseEnd
    from diskbench.ports import Host
    from diskbench.providers.azure.client import AzureClient, Item

WRITE_TAGS = "Microsoft.Resources/tags/write"


def extend(edge: AzureClient, lease_id: str, end: LeaseEnd, guest: Host) -> None:
    """See ports.ExtendsLeases. Resources that somebody else put into the group keep their tags."""
    move_timer(guest, end)
    for group in tagged_groups(edge, lease_id):
        if not is_ours(group):
            continue
        content = [item for item in inside(edge, group) if not is_strange(lease_id, item)]
        deadman.move(edge, lease_id, content, end)
        for item in content:
            if lease_of(item) == lease_id and not deadman.is_schedule(item):
                _tag(edge, kind_and_name(item), item, end)
        _tag(edge, group_kind_and_name(group), group, end)


def _tag(edge: AzureClient, what: str, item: Item, end: LeaseEnd) -> None:
    """Write the expiry into one resource's tags; its other tags stay."""
    edge.finished(
        f"tags of {what}", edge.timing.network_s, WRITE_TAGS,
        "resources", "tags.begin_update_at_scope",
        str(item["id"]), requests.new_expiry(end.expires_at),
    )  # fmt: skip
