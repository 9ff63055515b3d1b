"""Operations: everything that changes is one, and it is done only after some looks at it.

A look is any `get` or `wait` of the operation, and any look at the resource it is about. `wait`
may answer before the operation is done, as the service's own may ("on a best effort basis":
description of zoneOperations.wait in the discovery document).
"""

import contextlib
import uuid
from typing import Any

from diskbench.errors import ReleaseFailed
from emulators.gcp.call import Call, Failure, not_found
from emulators.gcp.cloud import Cloud, Operation, Work
from emulators.gcp.regions import link, rfc3339

WAIT_S = 20.0
"""How long `wait` waits for the lab; the service's limit is two minutes."""
FORCED = Failure("OPERATION_CANCELED_BY_USER", "The resource was deleted meanwhile.", 400)
BROKEN = Failure(
    "INTERNAL_ERROR", "Internal error. Please try again.", 500, "INTERNAL SERVER ERROR"
)


def start(cloud: Cloud, call: Call, target: str, work: Work) -> dict[str, Any]:
    """Begin; the answer to the request that asked for it."""
    now = rfc3339(cloud.now())
    name = f"operation-{int(cloud.now() * 1000)}-{uuid.uuid4().hex[:13]}-{uuid.uuid4().hex[:8]}"
    path = f"{call.scope}/operations/{name}"
    row: dict[str, Any] = {
        "kind": "compute#operation",
        "id": cloud.new_id(),
        "name": name,
        "operationType": call.method.rpartition(".")[2],
        "targetLink": link(target),
        "status": "RUNNING",
        "progress": 0,
        "user": call.caller,
        "insertTime": now,
        "startTime": now,
        "selfLink": link(path),
    }
    for kind in ("zone", "region"):
        if kind in call.path:
            row[kind] = link(call.scope)
    if target in cloud.resources:
        row["targetId"] = cloud.resources[target]["id"]
    work.looks += cloud.faults.looks_more(call.method)
    made = Operation(row, path, target, work)
    cloud.operations.known[path] = made
    if work.begin is not None and work.failure is None and not work.late:
        made.running = work.begin()
    return dict(row)


def look(cloud: Cloud, operation: Operation) -> None:
    """Somebody looked; it may be done now."""
    if operation.done:
        return
    operation.work.looks -= 1
    settle(cloud, operation)


def look_at(cloud: Cloud, target: str) -> None:
    """Somebody looked at a resource, or at all below a path that ends with a slash."""
    for one in list(cloud.operations.known.values()):
        if one.target == target or (target.endswith("/") and one.target.startswith(target)):
            look(cloud, one)


def settle(cloud: Cloud, operation: Operation) -> None:
    """Finish it when its looks are spent and its work is done."""
    work = operation.work
    if operation.done or work.looks > 0:
        return
    if work.failure is not None:
        work.undo()
        _end(cloud, operation, work.failure)
        return
    if operation.running is None and work.begin is not None:
        operation.running = work.begin()
    if operation.running is None:
        work.finish()
        _end(cloud, operation, None)
    elif operation.running.done():
        error = operation.running.exception()
        if isinstance(error, ReleaseFailed):
            operation.running = None  # the guest holds it: Compute goes on trying
        elif error is not None:
            cloud.errors.append(error)
            work.undo()
            _end(cloud, operation, BROKEN)
        else:
            work.finish()
            _end(cloud, operation, None)


def force(cloud: Cloud, target: str) -> None:
    """End what is being done to a resource that goes away."""
    for one in cloud.operations.under_way(target):
        _end(cloud, one, FORCED)


def get(cloud: Cloud, call: Call) -> dict[str, Any]:
    """One look at one operation."""
    found = _find(cloud, call)
    look(cloud, found)
    return dict(found.row)


def wait(cloud: Cloud, call: Call) -> dict[str, Any]:
    """One look, that waits for the lab when it is the last one. Called without the cloud's lock."""
    with cloud.lock:
        found = _find(cloud, call)
        look(cloud, found)
        running = found.running if found.work.looks <= 0 else None
    if running is not None:
        with contextlib.suppress(TimeoutError):
            running.exception(timeout=WAIT_S)
    with cloud.lock:
        settle(cloud, found)
        return dict(found.row)


def everywhere(cloud: Cloud) -> dict[str, dict[str, Any]]:
    """All operations by path."""
    return {path: dict(one.row) for path, one in cloud.operations.known.items()}


def _find(cloud: Cloud, call: Call) -> Operation:
    path = call.names("operation", "operations")
    named = cloud.operations.known.get(path)
    if named is not None:
        return named
    for one in cloud.operations.known.values():
        if one.row["id"] == call.path["operation"] and one.path.startswith(f"{call.scope}/"):
            return one
    raise not_found(path)


def _end(cloud: Cloud, operation: Operation, failure: Failure | None) -> None:
    row = operation.row
    row |= {"status": "DONE", "progress": 100, "endTime": rfc3339(cloud.now())}
    if failure is not None:
        row["error"] = {"errors": [{"code": failure.code, "message": failure.message}]}
        row["httpErrorStatusCode"] = failure.status
        row["httpErrorMessage"] = failure.status_message
