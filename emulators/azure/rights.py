"""What a request demands of its caller's role, as data: the action of its route, and the actions
that Azure checks on the resources that its body refers to ("linked access").

Actions: learn.microsoft.com, role-based-access-control, "Azure permissions" (2026). Joining is
checked as the documentation of each network resource says ("… /join/action"); images as "Share
gallery images" does (Reader of the image). What a machine deletes by its deleteOption is demanded
of whoever deletes the machine: no document found says whether Azure does so.
"""

import fnmatch
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from emulators.azure.call import Call, Refusal
from emulators.azure.cloud import Cloud, Route

_NETWORK, _COMPUTE = "Microsoft.Network", "Microsoft.Compute"
LINKED: Mapping[str, Mapping[str, str]] = {
    f"{_NETWORK}/networkInterfaces/write": {
        "subnet": f"{_NETWORK}/virtualNetworks/subnets/join/action",
        "networkSecurityGroup": f"{_NETWORK}/networkSecurityGroups/join/action",
        "publicIPAddress": f"{_NETWORK}/publicIPAddresses/join/action",
    },
    f"{_NETWORK}/virtualNetworks/subnets/write": {
        "networkSecurityGroup": f"{_NETWORK}/networkSecurityGroups/join/action",
    },
    f"{_COMPUTE}/virtualMachines/write": {
        "networkInterfaces": f"{_NETWORK}/networkInterfaces/join/action",
        "managedDisk": f"{_COMPUTE}/disks/write",
        "proximityPlacementGroup": f"{_COMPUTE}/proximityPlacementGroups/write",
        "imageReference": f"{_COMPUTE}/images/read",
        "diskEncryptionSet": f"{_COMPUTE}/diskEncryptionSets/read",
    },
    f"{_COMPUTE}/disks/write": {
        "diskEncryptionSetId": f"{_COMPUTE}/diskEncryptionSets/read",
        "sourceResourceId": f"{_COMPUTE}/snapshots/read",
    },
}
"""Action → member of its body that refers to another resource by its id → what that demands."""
GALLERY_IMAGE = f"{_COMPUTE}/galleries/images/versions/read"
DELETED_ALONG = {
    "networkInterfaces": f"{_NETWORK}/networkInterfaces/delete",
    "publicIPAddresses": f"{_NETWORK}/publicIPAddresses/delete",
    "disks": f"{_COMPUTE}/disks/delete",
}
"""What the deletion of a machine demands for what goes with it."""


def of_route(route: Route, names: Mapping[str, str]) -> str:
    """The action of a request to a route."""
    return route.action.format(**names) if "{" in route.action else route.action


def allows(role: Iterable[str], action: str) -> bool:
    """Whether a role with these actions, which may have `*`, allows one. Case does not count."""
    return any(fnmatch.fnmatchcase(action.lower(), pattern.lower()) for pattern in role)


def linked(cloud: Cloud, call: Call) -> list[str]:
    """What a request demands beside its own action."""
    wanted = LINKED.get(call.action, {})
    found = {action for member, action in _referred(call.body, wanted)}
    if call.action == f"{_COMPUTE}/virtualMachines/delete":
        found |= set(_taken_along(cloud, call))
    return sorted(found)


def check(cloud: Cloud, call: Call, client: str) -> None:
    """Raise Refusal as ARM does where the caller's role lacks what the request demands."""
    role, extra = cloud.faults.role, linked(cloud, call)
    cloud.faults.demanded |= {call.action, *extra}
    if role is None:
        return
    if not allows(role, call.action):
        raise Refusal(
            "AuthorizationFailed",
            f"The client '{client}' with object id '{client}' does not have authorization to "
            f"perform action '{call.action}' over scope '{call.path}' or the scope is invalid. If "
            "access was recently granted, please refresh your credentials.",
            status=403,
        )
    missing = [action for action in extra if not allows(role, action)]
    if missing:
        raise Refusal(
            "LinkedAuthorizationFailed",
            f"The client '{client}' with object id '{client}' has permission to perform action "
            f"'{call.action}' on scope '{call.path}'; however, it does not have permission to "
            f"perform action '{missing[0]}' on the linked scope(s) of it or the linked scope(s) "
            "are invalid.",
            status=403,
        )


def _referred(body: Any, wanted: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The members of a body, at any depth, that refer to another resource."""
    if isinstance(body, list):
        for one in body:
            yield from _referred(one, wanted)
        return
    for member, value in body.items() if isinstance(body, dict) else ():
        for one in value if isinstance(value, list) else [value]:
            target = str((one.get("id") if isinstance(one, dict) else one) or "")
            if member in wanted and target:
                gallery = member == "imageReference" and "/galleries/" in target.lower()
                yield member, GALLERY_IMAGE if gallery else wanted[member]
        yield from _referred(value, wanted)


def _taken_along(cloud: Cloud, call: Call) -> Iterator[str]:
    machine = cloud.find(call.path)
    if machine is None:
        return
    profile = machine["properties"]["storageProfile"]
    if any(
        one.get("deleteOption") == "Delete" for one in (profile["osDisk"], *profile["dataDisks"])
    ):
        yield DELETED_ALONG["disks"]
    for one in machine["properties"]["networkProfile"]["networkInterfaces"]:
        if (one.get("properties") or {}).get("deleteOption") != "Delete":
            continue
        yield DELETED_ALONG["networkInterfaces"]
        card = cloud.find(one["id"]) or {"properties": {"ipConfigurations": []}}
        for part in card["properties"]["ipConfigurations"]:
            public = part["properties"].get("publicIPAddress") or {}
            if (public.get("properties") or {}).get("deleteOption") == "Delete":
                yield DELETED_ALONG["publicIPAddresses"]
