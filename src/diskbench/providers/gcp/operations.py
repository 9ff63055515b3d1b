"""Compute Engine's operations: await an accepted change and check its outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.providers.gcp.errors import of_operation
from diskbench.providers.waits import Still, until

if TYPE_CHECKING:
    from diskbench.providers.gcp.client import Compute, Item


def change(
    compute: Compute, collection: str, method: str, request: Item, what: str, limit_s: float
) -> Item:
    """Send a change, wait for its end, and return the operation.

    Raises the diskbench error when Google refuses the change, at once or later, RentalFailed
    after `limit_s`, Interrupted when the watch is stopping.
    """
    started = compute.call(collection, method, request)
    return finish(compute, started, f"compute.{collection}.{method}", what, limit_s)


def finish(compute: Compute, operation: Item, action: str, what: str, limit_s: float) -> Item:
    """Wait until an operation is done, and return it. Raises as `change`."""

    def ask() -> Item | Still:
        # The first answer is from the moment of the change, so the operation is read again.
        state = (
            operation if operation.get("status") == "DONE" else _read_operation(compute, operation)
        )
        return state if state.get("status") == "DONE" else Still(_words(state))

    done = until(ask, what, limit_s, compute.timing, compute.watch)
    error = of_operation(done, action)
    if error is not None:
        raise error
    return done


def _read_operation(compute: Compute, operation: Item) -> Item:
    """The operation's present state, from its zone, its region or the global collection."""
    name = {"operation": operation["name"]}
    zone = last(operation.get("zone", ""))
    if zone:
        return compute.call("zoneOperations", "get", {"zone": zone, **name})
    return compute.call("globalOperations", "get", name)


def _words(operation: Item) -> str:
    kind, status = operation.get("operationType", "operation"), operation.get("status", "")
    return f"{kind} is {str(status).lower() or 'under way'}"


def last(url: str) -> str:
    """The name at the end of a resource's URL."""
    return url.rpartition("/")[2]
