"""The resources requested for a lease, by the operations that Compute Engine keeps.

An operation is listed as soon as its request was accepted, and for days; a listing of resources
may not show yet what it made. So a release and the choice of a zone use both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.providers.gcp.errors import of_operation
from diskbench.providers.gcp.operations import last

if TYPE_CHECKING:
    from collections.abc import Iterable

    from diskbench.providers.gcp.client import Compute, Item

_MADE = ("instances", "disks", "firewalls")
"""The collections in which diskbench makes something itself."""


@dataclass(frozen=True)
class Sent:
    """A resource that a request made, or is making. `zone` is "" for a global one."""

    collection: str
    zone: str
    name: str

    @property
    def kind_and_name(self) -> str:
        """Kind and name, as the inventory has them: `disk ZONE/NAME`."""
        kind = self.collection.removesuffix("s")
        return f"{kind} {self.zone}/{self.name}" if self.zone else f"{kind} {self.name}"

    @property
    def item(self) -> Item:
        """The resource in the form of a listing, with name and zone only."""
        return {"name": self.name, **({"zone": self.zone} if self.zone else {})}


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
        target = _target(str(operation.get("targetLink", "")))
        if target is None or of_operation(operation, "operations.list") is not None:
            continue
        kind = str(operation.get("operationType", ""))
        if kind == "insert":
            resources[target] = None
        elif kind == "delete" and operation.get("status") == "DONE":
            resources.pop(target, None)
    return tuple(resources)


def _target(link: str) -> Sent | None:
    collection, name = last(link.rpartition("/")[0]), last(link)
    zone = link.partition("/zones/")[2].partition("/")[0]
    return Sent(collection, zone, name) if collection in _MADE else None
