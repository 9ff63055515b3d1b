"""The resources of one lease or of all leases: as listed, never remembered, and as requested, by
the operations that Compute Engine keeps.

An operation is listed as soon as its request was accepted, and for days; a listing of resources may
not show yet what it made. So a release and the choice of a zone use both.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from diskbench.model.rental import Which
from diskbench.providers.gcp.client import Compute, Item, last
from diskbench.providers.gcp.errors import of_operation
from diskbench.providers.gcp.requests import (
    EXPIRES_LABEL,
    LEASE_LABEL,
    OWNER_LABEL,
    addressed,
    lease_of_rule,
    name_of,
    of_lease,
)

STARTING = frozenset({"PROVISIONING", "STAGING"})
LIVE = STARTING | {"RUNNING"}


@dataclass(frozen=True)
class GcpInventory:
    """Instances (stopped ones too: their disks cost money), disks, firewall rules and snapshots.
    `others` are kinds and names of resources that carry the lease's label but do not belong to
    it."""

    instances: tuple[Item, ...]
    disks: tuple[Item, ...]
    rules: tuple[Item, ...]
    snapshots: tuple[Item, ...] = ()
    others: tuple[str, ...] = ()

    def resources(self) -> Iterator[tuple[str, Item]]:
        """All resources with kind and name: `disk ZONE/NAME`."""
        for item in self.instances:
            yield f"instance {place(item)}", item
        for item in self.disks:
            yield f"disk {place(item)}", item
        for item in self.rules:
            yield f"firewall {item['name']}", item
        for item in self.snapshots:
            yield f"snapshot {item['name']}", item

    def names(self) -> tuple[str, ...]:
        """Kinds and names of all resources."""
        return tuple(name for name, _ in self.resources())

    def also(self, sent: Collection[Sent]) -> GcpInventory:
        """The inventory with the resources that were requested and are not listed."""
        known = set(self.names())
        more = [resource for resource in sent if resource.kind_and_name not in known]

        def of(collection: str) -> Iterator[Item]:
            return (resource.item for resource in more if resource.collection == collection)

        return replace(
            self,
            instances=(*self.instances, *of("instances")),
            disks=(*self.disks, *of("disks")),
            rules=(*self.rules, *of("firewalls")),
            snapshots=(*self.snapshots, *of("snapshots")),
        )

    @property
    def live(self) -> tuple[Item, ...]:
        """The running and starting instances, oldest first."""
        going = [item for item in self.instances if item.get("status") in LIVE]
        return tuple(sorted(going, key=lambda item: str(item.get("creationTimestamp"))))

    def disk(self, name: str, scope: str) -> Item | None:
        """A disk by its name and its zone or region."""
        return next((d for d in self.disks if d["name"] == name and scope_of(d) == scope), None)


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
        snapshots=_of(compute.listed("snapshots", request), lease_id),
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
        snapshots=tuple(item for item in listed.snapshots if id(item) in ours),
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


def scope_of(item: Item) -> str:
    """The resource's zone, or its region where it is in several; "" for a global resource."""
    return last(str(item.get("zone") or item.get("region", "")))


def place(item: Item) -> str:
    """Zone (or region) and name, as shown to the user."""
    return f"{scope_of(item)}/{item['name']}"


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


def describe(compute: Compute, collection: str, scope: str, name: str) -> Item | None:
    """The present state of an instance or a disk; None when it does not exist."""
    where, request = addressed(collection, scope, name)
    return compute.found(where, request)


_MADE = ("instances", "disks", "firewalls", "snapshots")
"""The collections in which diskbench makes something itself."""


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
        kind = self.collection.removesuffix("s")
        return f"{kind} {self.scope}/{self.name}" if self.scope else f"{kind} {self.name}"

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
    return Sent(collection, scope[1] if scope else "", name) if collection in _MADE else None
