"""Operations that end later: azure-asyncoperation and location, as azure-core polls them.

An operation is over after it was looked at so often and its work in the lab is done. Looks, not
seconds: tests depend on no clock. Every GET is a look at all that are under way.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from emulators.azure.call import Answer, Call, Refusal, Route
from emulators.azure.clock import now

if TYPE_CHECKING:
    from emulators.azure.cloud import Cloud

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


def start(
    cloud: Cloud,
    call: Call,
    style: str,
    target: dict[str, Any],
    finish: Callable[[], Any],
    *,
    begin: Callable[[], Future[Any]] | None = None,
    failed: Callable[[BaseException], None] | None = None,
    more_looks: int = 0,
) -> Operation:
    """Begin the operation of a call on `target`, or one that fails or never ends as faults say."""
    failure = cloud.faults.failure(call)
    looks = float("inf") if cloud.faults.is_stuck(call) else cloud.pace.looks + more_looks

    def fail() -> None:
        assert failure is not None
        raise failure

    def broke(error: BaseException) -> None:
        cloud.failed(error)
        if failed is not None:
            failed(error)

    made = Operation(
        style=style,
        target=target["id"],
        subscription=call.names["sub"],
        location=target.get("location", "eastus"),
        looks_left=looks,
        finish=fail if failure else finish,
        begin=None if failure else begin,
        failed=broke,
    )
    return cloud.operations.add(made)


def accepted(
    cloud: Cloud, call: Call, operation: Operation, status: int, body: Any = None
) -> Answer:
    """The answer that begins an operation, with the headers that each kind has."""
    version = call.query.get("api-version", "")
    url = f"{call.base}{operation.url}"
    headers = {"Retry-After": str(cloud.pace.retry_after_s)}
    if operation.style == "group":
        return Answer(status, body, headers | {"Location": f"{url}?api-version={version}"})
    headers["Azure-AsyncOperation"] = f"{url}?api-version={version}"
    if operation.style != "disk":
        headers["Azure-AsyncNotification"] = "Enabled"
    if status == 202:  # what is made or changed is looked at itself in the end
        results = url.replace("/operations/", "/operationResults/")
        headers["Location"] = (
            f"{results}?api-version={version}"
            if operation.style == "network"
            else f"{url}?monitor=true&api-version={version}"
        )
    return Answer(status, body, headers)


def _status(cloud: Cloud, call: Call) -> Answer:
    operation = _find(cloud, call)
    if call.query.get("monitor") == "true":
        return _result(cloud, call)
    if operation.style == "network":
        # The network's operations say their status only.
        body: dict[str, Any] = {"status": operation.status}
    else:
        body = {"startTime": operation.started, "status": operation.status}
        body |= {"name": operation.name}
        body |= {"endTime": operation.ended} if operation.ended else {}
        body |= {"properties": {"output": operation.output}} if operation.output else {}
    body |= {"error": operation.error} if operation.error else {}
    waits = operation.status == "InProgress"
    return Answer(200, body, {"Retry-After": str(cloud.pace.retry_after_s)} if waits else {})


def _result(cloud: Cloud, call: Call) -> Answer:
    """What `location` shows: 202 until it is over, then the outcome itself."""
    operation = _find(cloud, call)
    if operation.status == "InProgress":
        query = "&".join(f"{key}={value}" for key, value in call.query.items())
        here = {"Location": f"{call.base}{call.path}?{query}"}
        return Answer(202, None, here | {"Retry-After": str(cloud.pace.retry_after_s)})
    if operation.error:
        return Answer(409, {"error": operation.error})
    return Answer(200, operation.output)


def _find(cloud: Cloud, call: Call) -> Operation:
    found = cloud.operations.known.get(call.names["name"])
    if found is None:
        raise Refusal("NotFound", "The entity was not found in this Azure location.", status=404)
    return found


_AT = "/subscriptions/{sub}/providers/{provider}/locations/{location}"
_ANY = "{provider}/locations"
ROUTES = (
    Route("GET", _AT + "/DiskOperations/{name}", f"{_ANY}/DiskOperations/read", _status),
    Route("GET", _AT + "/operations/{name}", f"{_ANY}/operations/read", _status),
    Route("GET", _AT + "/operationResults/{name}", f"{_ANY}/operationResults/read", _result),
    Route(
        "GET", "/subscriptions/{sub}/operationresults/{name}",
        "Microsoft.Resources/subscriptions/operationresults/read", _result,
    ),
)  # fmt: skip
