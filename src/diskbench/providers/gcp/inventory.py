"""The resources of one lease or of all leases, listed and never remembered, and the present state
of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError
from diskbench.providers.gcp.errors import is_missing
from diskbench.providers.gcp.operations import last
from diskbench.providers.gcp.requests import (
    EXPIRES_LABEL,
    LEASE_LABEL,
    OWNER_LABEL,
    lease_of_rule,
    name_of,
    of_lease,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from diskbench.model.rental import Which
    from diskbench.providers.gcp.client import Compute, Item
    from diskbench.providers.gcp.sent import Sent


STARTING = frozenset({"PROVISIONING", "STAGING"})
LIVE = STARTING | {"RUNNING"}


@dataclass(frozen=True)
class GcpInventory:
    """Instances (stopped ones too: their disks cost money), disks and firewall rules. `others`
    are kinds and names of resources that carry the lease's label but do not belong to it."""

    instances: tuple[Item, ...]
    disks: tuple[Item, ...]
    rules: tuple[Item, ...]
    others: tuple[str, ...] = ()

    def resources(self) -> Iterator[tuple[str, Item]]:
        """All resources with kind and name: `disk ZONE/NAME`."""
        for item in self.instances:
            yield f"instance {place(item)}", item
        for item in self.disks:
            yield f"disk {place(item)}", item
        for item in self.rules:
            yield f"firewall {item['name']}", item

    def names(self) -> tuple[str, ...]:
        """Kinds and names of all resources."""
        return tuple(name for name, _ in self.resources())

    def also(self, sent: Collection[Sent]) -> GcpInventory:
        """The inventory with the resources that were requested and are not listed."""
        known = set(self.names())
        more = {
            collection: tuple(
                resource.item
                for resource in sent
                if resource.collection == collection and resource.kind_and_name not in known
            )
            for collection in ("instances", "disks", "firewalls")
        }
        return GcpInventory(
            instances=(*self.instances, *more["instances"]),
            disks=(*self.disks, *more["disks"]),
            rules=(*self.rules, *more["firewalls"]),
            others=self.others,
        )

    @property
    def live(self) -> tuple[Item, ...]:
        """The running and starting instances, oldest first."""
        going = [item for item in self.instances if item.get("status") in LIVE]
        return tuple(sorted(going, key=lambda item: str(item.get("creationTimestamp"))))

    def disk(self, name: str, zone: str) -> Item | None:
        """A disk by its name and zone."""
        return next((d for d in self.disks if d["name"] == name and zone_of(d) == zone), None)


def inventory(compute: Compute, which: Which | None = None) -> GcpInventory:
    """The resources of one lease, or all that carry the label of any lease, in all zones of the
    project. Raises diskbench's errors."""
    lease_id = which.lease_id if which else None
    request = of_lease(lease_id)
    # Firewall rules have no labels to filter by, and a project has a few hundred at most.
    by_name = {"filter": f"name={name_of(lease_id, 'ssh')}"} if lease_id else None
    listed = GcpInventory(
        instances=_of(compute.listed_everywhere("instances", request), lease_id),
        disks=_of(compute.listed_everywhere("disks", request), lease_id),
        rules=_of(compute.listed("firewalls", by_name), lease_id),
    )
    return listed if which is None else _meant(listed, which)


def _meant(listed: GcpInventory, which: Which) -> GcpInventory:
    """The inventory without resources that carry the lease's label but do not belong to it; those
    are kept by name in a separate field."""
    ours = {
        id(item)
        for kind_and_name, item in listed.resources()
        if which.takes(item["name"], kind_and_name)
    }
    return GcpInventory(
        instances=tuple(item for item in listed.instances if id(item) in ours),
        disks=tuple(item for item in listed.disks if id(item) in ours),
        rules=tuple(item for item in listed.rules if id(item) in ours),
        others=tuple(
            kind_and_name for kind_and_name, item in listed.resources() if id(item) not in ours
        ),
    )


def _of(items: list[Item], lease_id: str | None) -> tuple[Item, ...]:
    """The resources of the lease, checked again because listed resources get deleted."""
    return tuple(
        item
        for item in items
        if (item_lease := lease_of(item)) is not None and lease_id in {None, item_lease}
    )


def zone_of(item: Item) -> str:
    """The resource's zone; "" for a global resource."""
    return last(str(item.get("zone", "")))


def place(item: Item) -> str:
    """Zone and name, as shown to the user."""
    return f"{zone_of(item)}/{item['name']}"


def lease_of(item: Item) -> str | None:
    """The lease that a resource names, by label or (a firewall rule) by description."""
    rule = lease_of_rule(item)
    label = item.get("labels", {}).get(LEASE_LABEL)
    return rule[0] if rule else str(label) if label else None


def owner_of(item: Item) -> str | None:
    """The owner in the resource's labels; a firewall rule has none."""
    owner = item.get("labels", {}).get(OWNER_LABEL)
    return str(owner) if owner else None


def expiry_of(item: Item) -> float | None:
    """When the resource's lease expires, in Unix seconds; None where its tags do not say."""
    rule = lease_of_rule(item)
    if rule is not None:
        return rule[1]
    text = str(item.get("labels", {}).get(EXPIRES_LABEL, ""))
    return float(text) if text.isdecimal() else None


def describe(compute: Compute, collection: str, zone: str, name: str) -> Item | None:
    """The present state of an instance or a disk; None when it does not exist."""
    try:
        key = collection.removesuffix("s")
        return compute.call(collection, "get", {"zone": zone, key: name})
    except DiskbenchError as error:
        if is_missing(error):
            return None
        raise
