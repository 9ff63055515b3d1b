"""Which permissions the caller has: in a project, and on one image or subnetwork.

Of a project: cloudresourcemanager.googleapis.com, v3, projects.testIamPermissions; served here
under its path. Of a resource: the method testIamPermissions of Compute Engine's collections.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from emulators.gcp import rights
from emulators.gcp.call import Call, Refusal

if TYPE_CHECKING:
    from emulators.gcp.cloud import Cloud

Handler = Callable[["Cloud", Call], dict[str, Any]]

_PATH = re.compile(r"/v3/projects/(?P<project>[^/:]+):testIamPermissions")
_MOST = 100


def answer(cloud: Cloud, path: str, body: bytes, caller: str) -> tuple[int, dict[str, Any]] | None:
    """Status and JSON; None for a path of somebody else's."""
    found = _PATH.fullmatch(path)
    if found is None:
        return None

    def held() -> dict[str, Any]:
        asked = json.loads(body)["permissions"]
        if len(asked) > _MOST:
            raise Refusal(400, "badRequest", f"At most {_MOST} permissions can be tested.")
        return {"permissions": list(rights.held(cloud, caller, tuple(asked)))}

    return rights.of_project(cloud, found["project"], caller, held)


def of_resource(collection: str, parts: str) -> Handler:
    """What answers testIamPermissions of a collection, whose resource `parts` names as `get`'s
    path does: which of the permissions the caller has on it, none for what is not there."""

    def tested(cloud: Cloud, call: Call) -> dict[str, Any]:
        asked = (call.body or {}).get("permissions", [])
        call.names(parts, collection)
        held = list(rights.held(cloud, call.caller, tuple(asked)))
        return {"permissions": held} if held else {}

    return tested
