"""Which permissions a request needs, and whether its caller has them. Its table is its own: it
proves the role that diskbench prints.

Compute Engine API reference, "IAM permissions" of each method, and "Compute Engine roles and
permissions" (2026): a request needs the method's own permission, and those for what its body asks
for. A refusal is worded as Google words it: "Required 'PERMISSION' permission for 'RESOURCE'".

What a caller holds is told of a project by cloudresourcemanager.googleapis.com, v3,
projects.testIamPermissions, served here under its path; of one image or subnetwork by the method
testIamPermissions of Compute Engine's collections.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from diskbench.providers.gcp.doctor import permissions
from emulators.gcp.call import Call, Refusal
from emulators.gcp.cloud import Cloud

Body = dict[str, Any]
Handler = Callable[[Cloud, Call], dict[str, Any]]
_PATH = re.compile(r"/v3/projects/(?P<project>[^/:]+):testIamPermissions")
_MOST = 100
"""Of one request."""

_OPERATIONS = {
    f"{scope}Operations.{verb}": (f"{scope}Operations.{right}",)
    for scope in ("zone", "region", "global")
    for verb, right in (
        ("get", "get"), ("wait", "get"), ("aggregatedList", "list"),
    )
}  # fmt: skip
NEEDS: dict[str, tuple[str, ...]] = {
    "projects.get": ("projects.get",),
    "regions.get": ("regions.get",),
    "regions.list": ("regions.list",),
    "networks.get": ("networks.get",),
    "subnetworks.get": ("subnetworks.get",),
    "images.get": ("images.get",),
    "images.getFromFamily": ("images.getFromFamily",),
    "snapshots.get": ("snapshots.get",),
    "snapshots.list": ("snapshots.list",),
    "snapshots.insert": ("snapshots.create", "disks.createSnapshot"),
    "snapshots.delete": ("snapshots.delete",),
    "machineTypes.aggregatedList": ("machineTypes.list",),
    "diskTypes.aggregatedList": ("diskTypes.list",),
    "firewalls.insert": ("firewalls.create", "networks.updatePolicy"),
    "firewalls.list": ("firewalls.list",),
    "firewalls.delete": ("firewalls.delete", "networks.updatePolicy"),
    "disks.insert": ("disks.create",),
    "disks.get": ("disks.get",),
    "disks.aggregatedList": ("disks.list",),
    "disks.delete": ("disks.delete",),
    "regionDisks.insert": ("disks.create",),
    "regionDisks.get": ("disks.get",),
    "regionDisks.delete": ("disks.delete",),
    "instances.insert": ("instances.create",),
    "instances.get": ("instances.get",),
    "instances.aggregatedList": ("instances.list",),
    "instances.delete": ("instances.delete",),
    "instances.attachDisk": ("instances.attachDisk", "instances.use", "disks.use"),
    "instances.detachDisk": ("instances.detachDisk", "disks.use"),
    "instances.setDiskAutoDelete": ("instances.setDiskAutoDelete",),
    **_OPERATIONS,
}
"""Method → the permissions that every request of it needs, without the prefix `compute.`."""
IAP = "iap.tunnelInstances.accessViaIAP"
"""To open a tunnel to a machine: IAP, "Using IAP for TCP forwarding"."""


def _of_instance(body: Body) -> Iterator[str]:
    fields = {"labels": "setLabels", "metadata": "setMetadata", "tags": "setTags"}
    for field, verb in fields.items():
        if body.get(field):
            yield f"instances.{verb}"
    if body.get("serviceAccounts"):
        yield "instances.setServiceAccount"
    for disk in body.get("disks", ()):
        if "source" in disk:
            yield "disks.use"
        elif disk.get("type") != "SCRATCH":
            yield "disks.create"
        if disk.get("initializeParams", {}).get("labels"):
            yield "disks.setLabels"
        if disk.get("initializeParams", {}).get("sourceImage"):
            yield "images.useReadOnly"
    for interface in body.get("networkInterfaces", ()):
        yield "subnetworks.use"
        if interface.get("accessConfigs"):
            yield "subnetworks.useExternalIp"
    if body.get("resourcePolicies"):
        yield "resourcePolicies.use"


def _of_disk(body: Body) -> Iterator[str]:
    if body.get("sourceSnapshot"):
        yield "snapshots.useReadOnly"
    if body.get("labels"):
        yield "disks.setLabels"
    if body.get("sourceImage"):
        yield "images.useReadOnly"


def _of_snapshot(body: Body) -> Iterator[str]:
    if body.get("labels"):
        yield "snapshots.setLabels"


_OF_BODY: dict[str, Callable[[Body], Iterator[str]]] = {
    "instances.insert": _of_instance,
    "disks.insert": _of_disk,
    "regionDisks.insert": _of_disk,
    "snapshots.insert": _of_snapshot,
}


def needed(call: Call) -> tuple[str, ...]:
    """The permissions that a request needs, in the order in which they are looked at."""
    of_body = _OF_BODY.get(call.method)
    more = of_body(call.body) if of_body else ()
    found = [f"compute.{name}" for name in (*NEEDS.get(call.method, ()), *more)]
    return tuple(dict.fromkeys(found))


def role() -> frozenset[str]:
    """What the role that `diskbench doctor --print-policy gcp` prints allows."""
    return frozenset(permissions())


def held(cloud: Cloud, caller: str, asked: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the permissions that the caller has. One whom no role was given owns the project."""
    given = cloud.roles.get(caller)
    lacking = cloud.faults.forbidden()
    return tuple(name for name in asked if (given is None or name in given) and name not in lacking)


def check(cloud: Cloud, call: Call) -> None:
    """Raise Refusal when the caller lacks a permission that the request needs."""
    resource = "/".join(f"{key}s/{value}" for key, value in call.path.items())
    require(cloud, call.caller, needed(call), resource)


def require(cloud: Cloud, caller: str, wanted: tuple[str, ...], resource: str) -> None:
    """Raise Refusal when the caller lacks one of these permissions on a resource."""
    has = held(cloud, caller, wanted)
    for name in wanted:
        if name not in has:
            message = f"Required '{name}' permission for '{resource}'"
            raise Refusal(403, "forbidden", message)


def of_project(
    cloud: Cloud, project: str, caller: str, reply: Callable[[], dict[str, Any]]
) -> tuple[int, dict[str, Any]]:
    """Status and JSON of an API beside Compute Engine that is asked about a project."""
    try:
        cloud.faults.check_credentials(caller)
        if project != cloud.project:
            raise Refusal(403, "forbidden", "The caller does not have permission")
        return 200, reply()
    except Refusal as refusal:
        return refusal.status, refusal.body()


def answer(cloud: Cloud, path: str, body: bytes, caller: str) -> tuple[int, dict[str, Any]] | None:
    """projects.testIamPermissions: status and JSON; None for a path of somebody else's."""
    found = _PATH.fullmatch(path)
    if found is None:
        return None

    def told() -> dict[str, Any]:
        asked = json.loads(body)["permissions"]
        if len(asked) > _MOST:
            raise Refusal(400, "badRequest", f"At most {_MOST} permissions can be tested.")
        return {"permissions": list(held(cloud, caller, tuple(asked)))}

    return of_project(cloud, found["project"], caller, told)


def of_resource(collection: str, parts: str) -> Handler:
    """What answers testIamPermissions of a collection, whose resource `parts` names as `get`'s
    path does: which of the permissions the caller has on it, none for what is not there."""

    def tested(cloud: Cloud, call: Call) -> dict[str, Any]:
        asked = (call.body or {}).get("permissions", [])
        call.names(parts, collection)
        has = list(held(cloud, call.caller, tuple(asked)))
        return {"permissions": has} if has else {}

    return tested
