"""Virtual networks, subnets, public addresses, security groups and interfaces."""

import copy
import uuid
from dataclasses import replace
from typing import Any

from emulators.azure import schema
from emulators.azure.call import GROUP, Answer, Call, Refusal, filtered, not_found
from emulators.azure.cloud import Cloud, Handler, Route
from emulators.azure.groups import check_tags, group_of
from emulators.azure.network_forms import (
    ADDRESS,
    INTERFACE,
    NETWORK,
    SECURITY,
    SUBNET,
    filled,
    public_address,
)
from emulators.azure.polling import accepted, start
from emulators.azure.subscriptions import check_location

_MODELS = {
    NETWORK: "VirtualNetwork",
    SUBNET: "Subnet",
    ADDRESS: "PublicIPAddress",
    SECURITY: "NetworkSecurityGroup",
    INTERFACE: "NetworkInterface",
}


def _identity(call: Call, kind: str) -> str:
    if kind == SUBNET:
        above = f"{call.group_id}/providers/{NETWORK}/{call.names['name']}"
        return f"{above}/subnets/{call.names['subnet']}"
    return f"{call.group_id}/providers/{kind}/{call.names['name']}"


def _put(cloud: Cloud, call: Call) -> Answer:
    group = group_of(cloud, call)
    kind = call.names["kind"]
    schema.check("network", _MODELS[kind], call.body)
    body: dict[str, Any] = copy.deepcopy(call.body) or {}
    check_tags(body.get("tags"))
    identity = _identity(call, kind)
    before = cloud.find(identity)
    identity = before["id"] if before else identity.replace(call.group_id, group["id"], 1)
    if cloud.operations.under_way(identity):
        raise Refusal(
            "AnotherOperationInProgress",
            f"Another operation on this or dependent resource is in progress: {identity}.",
            status=429,
        )
    name = identity.rsplit("/", 1)[1]
    made: dict[str, Any] = {"name": name, "id": identity, "etag": _etag(), "type": kind}
    if kind != SUBNET:
        made["location"] = check_location(body.get("location"), kind)
    for key in ("tags", "zones", "sku"):
        if body.get(key):
            made[key] = body[key]
    given = body.get("properties") or {}
    made["properties"] = {"provisioningState": "Updating"}
    if kind != SUBNET:
        guid = before["properties"]["resourceGuid"] if before else str(uuid.uuid4())
        made["properties"]["resourceGuid"] = guid
    made["properties"] |= filled(cloud, made, given, before)
    cloud.save(made)

    def finish() -> None:
        made["properties"]["provisioningState"] = "Succeeded"
        made["etag"] = _etag()
        if made["properties"].get("publicIPAllocationMethod") == "Static":
            public_address(cloud, made["id"])
        for subnet in _subnets(cloud, made) if kind == NETWORK else ():
            subnet["properties"]["provisioningState"] = "Succeeded"

    def failed(_: BaseException) -> None:
        made["properties"]["provisioningState"] = "Failed"

    if kind == INTERFACE:  # as recorded: it is there at once
        finish()
    target = made if "location" in made else {"id": identity, "location": group["location"]}
    operation = start(cloud, call, "network", target, finish, failed=failed)
    return accepted(cloud, call, operation, 200 if before else 201, shown(cloud, made))


def shown(cloud: Cloud, document: dict[str, Any]) -> dict[str, Any]:
    """A copy as it is answered: a network with its subnets, which are kept apart, a subnet with its
    users."""
    made = copy.deepcopy(document)
    if made["type"] == NETWORK:
        made["properties"]["subnets"] = [shown(cloud, one) for one in _subnets(cloud, document)]
    if made["type"] == SUBNET:
        users = [
            {"id": part["id"]}
            for card in cloud.of(INTERFACE)
            for part in card["properties"]["ipConfigurations"]
            if part["properties"]["subnet"]["id"].lower() == made["id"].lower()
        ]
        made["properties"] |= {"ipConfigurations": users} if users else {}
    return made


def _subnets(cloud: Cloud, network: dict[str, Any]) -> list[dict[str, Any]]:
    return cloud.of(SUBNET, network["id"] + "/")


def _get(cloud: Cloud, call: Call) -> Answer:
    return Answer(200, shown(cloud, _found(cloud, call)))


def _found(cloud: Cloud, call: Call) -> dict[str, Any]:
    group_of(cloud, call)
    kind = call.names["kind"]
    found = cloud.find(_identity(call, kind))
    if found is None:
        raise not_found(kind, call.names.get("subnet") or call.names["name"], call.names["group"])
    return found


def _list(cloud: Cloud, call: Call) -> Answer:
    kind = call.names["kind"]
    below = f"/subscriptions/{call.names['sub']}/"
    if "group" in call.names:
        below = group_of(cloud, call)["id"] + "/"
    if kind == SUBNET:
        below = f"{call.group_id}/providers/{NETWORK}/{call.names['name']}/"
    found = [shown(cloud, one) for one in cloud.of(kind, below)]
    return Answer(200, {"value": filtered(call, found)})


def forget(cloud: Cloud, document: dict[str, Any], *, with_addresses: bool = False) -> None:
    """It is no more, and nobody refers to it; addresses marked so go with it."""
    cloud.drop(document["id"])
    if document["type"] != INTERFACE:
        return
    for one in document["properties"]["ipConfigurations"]:
        public = one["properties"].get("publicIPAddress")
        address = cloud.find(public["id"]) if public else None
        if address is not None:
            address["properties"].pop("ipConfiguration", None)
            if with_addresses and address["properties"].get("deleteOption") == "Delete":
                cloud.drop(address["id"])


def _etag() -> str:
    return f'W/"{uuid.uuid4()}"'


def _routes(kind: str) -> list[Route]:
    action, at = kind, f"{GROUP}/providers/{kind}"
    everywhere = f"/subscriptions/{{sub}}/providers/{kind}"
    one, all_of = f"{at}/{{name}}", [at, everywhere]
    if kind == SUBNET:
        above = f"{GROUP}/providers/{NETWORK}/{{name}}"
        one, all_of = f"{above}/subnets/{{subnet}}", [f"{above}/subnets"]
    return [
        Route("PUT", one, f"{action}/write", _of(kind, _put)),
        Route("GET", one, f"{action}/read", _of(kind, _get)),
        *(Route("GET", path, f"{action}/read", _of(kind, _list)) for path in all_of),
    ]


def _of(kind: str, handler: Handler) -> Handler:
    return lambda cloud, call: handler(cloud, replace(call, names={**call.names, "kind": kind}))


ROUTES = tuple(route for kind in _MODELS for route in _routes(kind))
