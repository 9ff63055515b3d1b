"""Operations that end later.

An operation is over after it was looked at so often and its work in the lab is done. Looks, not
seconds: tests depend on no clock. Every GET is a look at all that are under way.
"""

import uuid
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from emulators.azure.call import Refusal, now

STYLES = {
    "disk": "providers/Microsoft.Compute/locations/{location}/DiskOperations",
    "compute": "providers/Microsoft.Compute/locations/{location}/operations",
    "network": "providers/Microsoft.Network/locations/{location}/operations",
    "group": "operationresults",
}
"""Where the operations of each kind of resource are looked at, below the subscription."""


@dataclass(frozen=True)
class Pace:
    """How many looks an operation takes at least, and what Retry-After says (seconds; 0 leaves it
    to the client)."""

    looks: int = 2
    retry_after_s: int = 0


@dataclass
class Operation:
    """One on its way. `begin` starts its work in the lab; `finish` makes it true and returns its
    output; both raise Refusal for what goes wrong in it."""

    style: str
    target: str
    """The id of the resource that it is about."""
    subscription: str
    location: str
    looks_left: float
    finish: Callable[[], Any]
    begin: Callable[[], Future[Any]] | None = None
    failed: Callable[[BaseException], None] = lambda _: None
    name: str = field(default_factory=lambda: str(uuid.uuid4()))
    started: str = field(default_factory=now)
    ended: str | None = None
    status: str = "InProgress"
    error: dict[str, Any] | None = None
    output: Any = None
    work: Future[Any] | None = None

    @property
    def url(self) -> str:
        """Its path below the endpoint."""
        where = STYLES[self.style].format(location=self.location)
        return f"/subscriptions/{self.subscription}/{where}/{self.name}"

    def look(self) -> None:
        """Somebody looked: end it if it is time."""
        self.looks_left -= 1
        if self.status != "InProgress" or self.looks_left > 0:
            return
        if self.work is not None and not self.work.done():
            return
        error = self.work.exception() if self.work else None
        try:
            if error is not None:
                raise error
            self.output = self.finish()
        except Refusal as refused:
            self.end("Failed", refused.error)
            self.failed(refused)
        except Exception as broken:  # noqa: BLE001 - the lab's, told by `failed`
            self.end("Failed", {"code": "InternalExecutionError", "message": str(broken)})
            self.failed(broken)
        else:
            self.end("Succeeded")

    def end(self, status: str, error: dict[str, Any] | None = None) -> None:
        """It is over."""
        self.status, self.error, self.ended = status, error, now()


@dataclass
class Operations:
    """Everything that is on its way or was."""

    known: dict[str, Operation] = field(default_factory=dict)

    def add(self, operation: Operation) -> Operation:
        """It begins."""
        if operation.begin is not None:
            operation.work = operation.begin()
        self.known[operation.name] = operation
        return operation

    def look(self) -> None:
        """Somebody looked."""
        for operation in list(self.known.values()):
            operation.look()

    def under_way(self, target: str) -> Operation | None:
        """What happens to a resource now."""
        same = (o for o in self.known.values() if o.target.lower() == target.lower())
        return next((one for one in same if one.status == "InProgress"), None)

    def preempt(self, below: str) -> None:
        """What is on its way with anything at or below an id is given up."""
        for one in self.known.values():
            if one.status == "InProgress" and one.target.lower().startswith(below.lower()):
                message = "Operation execution has been preempted by a more recent operation."
                one.end("Canceled", {"code": "OperationPreempted", "message": message})
