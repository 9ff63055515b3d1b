"""One resource by name: found, awaited while in progress, else made; and deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.errors import Busy, NotListedYet
from diskbench.providers.azure.inventory import DISKS, MACHINES, read, state_of
from diskbench.providers.waits import Still, nap, until

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
    edge: AzureClient, resource: AzureResource, request: Callable[[], Request], limit_s: float
) -> Item:
    """The existing resource, or the one made by `request`. Raises diskbench's errors,
    RentalFailed when it takes longer than `limit_s`."""

    made = False

    def ask() -> Item | Still:
        nonlocal made
        existing = resource.read(edge)
        if existing is not None and state_of(existing) in _UNDER_WAY:
            return Still(state_of(existing))
        if existing is not None and state_of(existing) != "Failed":
            return existing
        if existing is None and made:
            return Still("made, not listed yet")
        try:
            return edge.finished(
                f"{resource.role} {resource.name}", limit_s, f"{resource.right}/write",
                resource.service, f"{resource.methods}.begin_create_or_update",
                resource.group, resource.name, request(), insist=False,
            )  # fmt: skip
        except NotListedYet:
            made = True
            return Still("made, not listed yet")
        except Busy as busy:
            nap(min(busy.retry_after_s, limit_s), edge.timing, edge.watch)
            return Still("under way already")

    return until(ask, f"{resource.role} {resource.name}", limit_s, edge.timing, edge.watch)


def delete(edge: AzureClient, kind: str, group: str, name: str, **more: bool) -> None:
    """Delete a machine or a disk (`kind` is MACHINES or DISKS), and wait until Azure does not list
    it any more: what has the same name next must not be taken for it. Raises diskbench's errors."""
    role, methods, limit_s = {
        MACHINES: ("machine", "virtual_machines", edge.timing.machine_s),
        DISKS: ("disk", "disks", edge.timing.disk_s),
    }[kind]
    edge.finished(
        f"{role} {name}", limit_s, f"{kind}/delete",
        "compute", f"{methods}.begin_delete", group, name, **more,
    )  # fmt: skip
    await_gone(edge, AzureResource(role, kind, "compute", methods, group, name), limit_s)


def await_gone(edge: AzureClient, resource: AzureResource, limit_s: float) -> None:
    """Wait until Azure does not list a deleted resource any more. Raises RentalFailed."""

    def ask() -> bool | Still:
        return True if resource.read(edge) is None else Still("deleted, still listed")

    until(ask, f"{resource.role} {resource.name}", limit_s, edge.timing, edge.watch)
