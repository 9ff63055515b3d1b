"""Requests that begin operations, and how those are looked at: azure-asyncoperation and location,
as azure-core polls them."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from emulators.azure.call import Answer, Call, Refusal
from emulators.azure.cloud import Cloud, Route
from emulators.azure.operations import Operation


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
