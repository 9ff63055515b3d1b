"""From a request to its handler: noted, checked for credentials and faults, routed, answered."""

from dataclasses import replace

from emulators.azure import (
    deployments,
    disks,
    generic,
    groups,
    images,
    machines,
    network,
    origins,
    policies,
    polling,
    power,
    rights,
    sizes,
    subscriptions,
)
from emulators.azure.call import Answer, Call, Refusal
from emulators.azure.cloud import OTHER_SUBSCRIPTION, SUBSCRIPTION, Cloud, Route
from emulators.azure.identity import client_of

ROUTES: tuple[Route, ...] = tuple(
    route
    for module in (
        subscriptions, polling, sizes, images, groups, network, origins, disks, power, machines,
        deployments, generic,
    )
    for route in module.ROUTES
)  # fmt: skip
"""The first that fits answers."""


class Hangup(Exception):  # noqa: N818 - named for what is done
    """The connection is closed without an answer."""


def answer(cloud: Cloud, call: Call) -> Answer:
    """What ARM answers. Raises Hangup where the answer is to be lost."""
    try:
        client = client_of(call.token)
        route, call = _routed(call)
        cloud.faults.note(call)
        cloud.faults.check_client(client)
        if "api-version" not in call.query:
            raise Refusal(
                "MissingApiVersionParameter",
                "The api-version query parameter (?api-version=) is required for all requests.",
            )
        _check_subscription(call)
        cloud.faults.check_refusals(call)
        rights.check(cloud, call, client)
        policies.check(cloud, call)
        subscriptions.check_registered(cloud, call)
        with cloud.lock:
            given = _given(cloud, route, call)
        if cloud.faults.loses(call):
            raise Hangup
    except Refusal as refused:
        return refused.answer()
    return given


def _given(cloud: Cloud, route: Route, call: Call) -> Answer:
    if call.method != "GET":
        return route.handler(cloud, call)
    cloud.operations.look()
    lagging = cloud.sightings.before(call)
    if lagging is not None:
        return lagging
    return cloud.sightings.after(call, route.handler(cloud, call))


def _routed(call: Call) -> tuple[Route, Call]:
    allowed = []
    for route in ROUTES:
        found = route.pattern.fullmatch(call.path.rstrip("/"))
        if found is None:
            continue
        if route.method == call.method:
            names = found.groupdict()
            return route, replace(call, names=names, action=rights.of_route(route, names))
        allowed.append(route.method)
    if allowed:
        message = f"The requested resource does not support http method '{call.method}'."
        raise Refusal("UnsupportedHttpVerb", message, status=405)
    raise Refusal("InvalidResourceType", f"No resource type has the path {call.path}.", status=404)


def _check_subscription(call: Call) -> None:
    given = call.names.get("sub")
    if given is not None and given.lower() not in {SUBSCRIPTION, OTHER_SUBSCRIPTION}:
        message = f"The subscription '{given}' could not be found."
        raise Refusal("SubscriptionNotFound", message, status=404)
