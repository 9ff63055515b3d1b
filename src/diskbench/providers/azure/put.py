"""One resource by name: found, awaited while in progress, else made; and deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.errors import Busy
from diskbench.providers.azure.inventory import DISKS, MACHINES, read, state_of
from diskbench.providers.waits import Still, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.providers.azure.client import AzureClient, Item
    from diskbench.providers.azure.requests import Request

_UNDER_WAY = frozenset({"Creating", "Updating", "Deleting"})


@dataclass(frozen=True)
class AzureResource:
    """The address of a resource: `role` is its name in messages, `right` its type, `methods` the
    SDK's attribute with its operations."""

    role: str
    right: str
    service: str
    methods: str
    group: str
    name: str

    def read(self, edge: AzureClient) -> Item | None:
        """The resource as Azure describes it; None where it does not exist."""
        return read(
            edge, f"{self.right}/read", self.service, f"{self.methods}.get", self.group, self.name
        )


def put(
    edge: AzureClient, thing: AzureResource, request: Callable[[], Request], limit_s: float
) -> Item:
    """The existing resource, or the one made by `request`. Raises diskbench's errors,
    RentalFailed when it takes longer than `limit_s`."""

    def ask() -> Item | Still:
        existing = thing.read(edge)
        if existing is not None and state_of(existing) in _UNDER_WAY:
            return Still(state_of(existing))
        if existing is not None and state_of(existing) != "Failed":
            return existing
        try:
            return edge.finished(
                f"{thing.role} {thing.name}", limit_s, f"{thing.right}/write",
                thing.service, f"{thing.methods}.begin_create_or_update",
                thing.group, thing.name, request(), insist=False,
            )  # fmt: skip
        except Busy:
            return Still("under way already")

    return until(ask, f"{thing.role} {thing.name}", limit_s, edge.timing, edge.watch)


def delete(edge: AzureClient, kind: str, group: str, name: str, **more: bool) -> None:
    """Delete a machine or a disk (`kind` is MACHINES or DISKS). Raises diskbench's errors."""
    role, methods, limit_s = {
        MACHINES: ("machine", "virtual_machines", edge.timing.machine_s),
        DISKS: ("disk", "disks", edge.timing.disk_s),
    }[kind]
    edge.finished(
        f"{role} {name}", limit_s, f"{kind}/delete",
        "compute", f"{methods}.begin_delete", group, name, **more,
    )  # fmt: skip
