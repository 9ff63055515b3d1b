"""The resources of one lease or of all leases: as listed, never remembered, and as requested, by
the operations that Compute Engine keeps.

An operation is listed as soon as its request was accepted, and for days; a listing of resources may
not show yet what it made. So a release and the choice of a zone use both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from diskbench.model.rental import Which
from diskbench.providers.gcp.client import Compute, Item, last
from diskbench.providers.gcp.errors import of_operation
from diskbench.providers.gcp.requests import (
    EXPIRES_LABEL,
    LEASE_LABEL,
    OWNER_LABEL,
    addressed,
    lease_of_rule,
    of_lease,
)
from diskbench.providers.skeleton.leases import Listed, parted
from diskbench.providers.skeleton.provision import name_of

STARTING = frozenset({"PROVISIONING", "STAGING"})
LIVE = STARTING | {"RUNNING"}


@dataclass(frozen=True)
class GcpInventory(Listed[Item]):
    """Instances (stopped ones too: their disks cost money), disks, firewall rules and snapshots, by
    kind and name: `disk ZONE/NAME`."""

    def of(self, collection: str) -> tuple[Item, ...]:
        """The resources of a collection (`disks`)."""
        kind = f"{collection.removesuffix('s')} "
        return tuple(item for name, item in self.meant.items() if name.startswith(kind))

    def also(self, sent: Iterable[Sent]) -> GcpInventory:
        """The inventory with the resources that were requested and are not listed."""
        more = {one.kind_and_name: one.item for one in sent if one.kind_and_name not in self.meant}
        return GcpInventory({**self.meant, **more}, self.others)

    @property
    def live(self) -> tuple[Item, ...]:
        """The running and starting instances, oldest first."""
        going = [item for item in self.of("instances") if item.get("status") in LIVE]
        return tuple(sorted(going, key=lambda item: str(item.get("creationTimestamp"))))


def inventory(compute: Compute, which: Which | None = None) -> GcpInventory:
    """The resources of one lease, or all that carry the label of any lease, in all zones of the
    project. Raises diskbench's errors."""
    lease_id = which.lease_id if which else None
    request = of_lease(lease_id)
    # Firewall rules have no labels to filter by, and a project has a few hundred at most.
    by_name = {"filter": f"name={name_of(lease_id, 'ssh')}"} if lease_id else None
    listed = {
        "instances": compute.listed_everywhere("instances", request),
        "disks": compute.listed_everywhere("disks", request),
        "firewalls": compute.listed("firewalls", by_name),
        "snapshots": compute.listed("snapshots", request),
    }
    # Whose they are is checked again, because listed resources get deleted.
    carrying = {
        kind_and_name(collection, item): item
        for collection, items in listed.items()
        for item in items
        if (of := lease_of(item)) is not None and lease_id in {None, of}
    }
    if which is None:
        return GcpInventory(carrying, ())
    ours = parted(carrying, lambda name, item: which.takes(item["name"], name))
    return GcpInventory(ours.meant, ours.others)


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


def attached(instance: Item, disk_name: str) -> Item | None:
    """The attachment of a disk to an instance."""
    disks: list[Item] = instance.get("disks", [])
    return next((d for d in disks if last(str(d.get("source", ""))) == disk_name), None)


def describe(compute: Compute, collection: str, scope: str, name: str) -> Item | None:
    """The present state of an instance or a disk; None when it does not exist."""
    where, request = addressed(collection, scope, name)
    return compute.found(where, request)


MADE = ("instances", "disks", "firewalls", "snapshots")
"""The collections in which diskbench makes something itself, in order of dependence."""


@dataclass(frozen=True)
class Sent:
    """A resource that a request made, or is making. `scope` is its zone or its region, "" for a
    global one."""

    collection: str
    scope: str
    name: str

    @property
    def kind_and_name(self) -> str:
        """Kind and name, as the inventory has them: `disk ZONE/NAME`."""
        return kind_and_name(self.collection, self.item)

    @property
    def item(self) -> Item:
        """The resource in the form of a listing, with name and place only."""
        _, request = addressed(self.collection, self.scope, self.name)
        return {"name": self.name, **{k: v for k, v in request.items() if k in {"zone", "region"}}}


def sent(compute: Compute, lease_id: str) -> tuple[Sent, ...]:
    """The resources of a lease whose creation was accepted and has not failed, and whose deletion
    was not. What went with its machine is among them. Raises diskbench's errors."""
    request = {"filter": f'targetLink eq ".*/diskbench-{lease_id}-[a-z0-9-]+"'}
    listed = compute.listed_everywhere("globalOperations", request, holds="operations")
    return still_made(listed)


def still_made(operations: Iterable[Item]) -> tuple[Sent, ...]:
    """The resources that the last operation on each of them left: pure."""
    resources: dict[Sent, None] = {}
    for operation in sorted(operations, key=lambda operation: str(operation.get("insertTime", ""))):
        target = linked(str(operation.get("targetLink", "")))
        if target is None or of_operation(operation, "operations.list") is not None:
            continue
        kind = str(operation.get("operationType", ""))
        if kind == "insert":
            resources[target] = None
        elif kind == "delete" and operation.get("status") == "DONE":
            resources.pop(target, None)
    return tuple(resources)


def linked(link: str) -> Sent | None:
    """What a link names; None for what diskbench makes none of."""
    collection, name = last(link.rpartition("/")[0]), last(link)
    scope = re.search("/(?:zones|regions)/([^/]+)/", link)
    return Sent(collection, scope[1] if scope else "", name) if collection in MADE else None
