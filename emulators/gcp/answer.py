"""What becomes of one request: matched, checked, carried out, and its answer checked as well."""

import copy
import json
from functools import partial
from typing import Any

from emulators.gcp import discovery, instances, places, rights, schema
from emulators.gcp.call import Call, LostAnswer, Refusal, not_found
from emulators.gcp.cloud import Cloud
from emulators.gcp.handlers import HANDLERS, Handler
from emulators.gcp.request_ids import once

_LAGGING = frozenset({"instances", "disks", "firewalls"})
"""The collections of what users make."""


def answer(
    cloud: Cloud, verb: str, path: str, query: dict[str, str], body: bytes, caller: str
) -> tuple[int, dict[str, Any]]:
    """HTTP status and JSON. Raises LostAnswer when that fault is in force."""
    try:
        return 200, _answered(cloud, verb, path, query, body, caller)
    except Refusal as refusal:
        return refusal.status, refusal.body()


def _answered(
    cloud: Cloud, verb: str, path: str, query: dict[str, str], body: bytes, caller: str
) -> dict[str, Any]:
    found = discovery.match(verb, path)
    if found is None:
        raise Refusal(404, "notFound", f"The requested URL {path} was not found on this server.")
    method, parameters = found
    call = Call(method.name, parameters, query, _read(body), caller)
    cloud.faults.note(call)
    with cloud.lock:
        cloud.faults.check_credentials(caller)
        cloud.faults.check_refusals(call)
        call = _checked(cloud, method, call)
        rights.check(cloud, call)
        instances.end_those_due(cloud)
        cloud.sightings.note(cloud.resources, cloud.lag)
    handler = HANDLERS.get(method.name)
    if handler is None:
        raise Refusal(501, "notImplemented", f"{method.name} is not emulated here.")
    if method.name.endswith("Operations.wait"):
        told = handler(cloud, call)
    else:
        with cloud.lock:
            told = copy.deepcopy(once(cloud, call, partial(_handled, cloud, call, handler)))
            cloud.sightings.note(cloud.resources, cloud.lag)
    if wrong := schema.answer_problems(method, told):
        error = AssertionError(f"{method.name} would answer what Google never does: {wrong}")
        cloud.errors.append(error)
        raise Refusal(500, "internalError", str(error))
    if cloud.faults.loses_answer(method.name):
        raise LostAnswer(method.name)
    return told


def _handled(cloud: Cloud, call: Call, handler: Handler) -> dict[str, Any]:
    """The handler's answer; of a thing that one look shows otherwise, what that look shows."""
    collection, _, verb = call.method.rpartition(".")
    name = collection.removesuffix("s")
    if verb == "get" and collection in _LAGGING:
        path = call.names(name, collection)
        shown = cloud.sightings.look(path)
        if shown is False:
            raise not_found(path)
        if isinstance(shown, dict):
            return shown
    return handler(cloud, call)


def _checked(cloud: Cloud, method: discovery.Method, call: Call) -> Call:
    places.check(cloud, call)
    problems = schema.request_problems(method, call.path, call.query)
    problems += schema.body_problems(method, call.body)
    if problems:
        raise Refusal(400, "invalid", "\n".join(problems))
    if method.request is None:
        return call
    taken = schema.settable(method.request, call.body)
    return Call(call.method, call.path, call.query, taken, call.caller)


def _read(body: bytes) -> Any:
    if not body:
        return {}
    try:
        found = json.loads(body)
    except ValueError:
        raise Refusal(400, "parseError", "Invalid JSON payload received.") from None
    if not isinstance(found, dict):
        raise Refusal(400, "parseError", "Invalid JSON payload received. Root must be an object.")
    return found
