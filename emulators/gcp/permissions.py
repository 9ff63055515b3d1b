"""Resource Manager's one method that is asked for: which permissions the caller has in a project.

cloudresourcemanager.googleapis.com, v3, projects.testIamPermissions; served here under its path.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from emulators.gcp import rights
from emulators.gcp.call import Refusal

if TYPE_CHECKING:
    from emulators.gcp.cloud import Cloud

_PATH = re.compile(r"/v3/projects/(?P<project>[^/:]+):testIamPermissions")
_MOST = 100


def answer(cloud: Cloud, path: str, body: bytes, caller: str) -> tuple[int, dict[str, Any]] | None:
    """Status and JSON; None for a path of somebody else's."""
    found = _PATH.fullmatch(path)
    if found is None:
        return None
    try:
        cloud.faults.check_credentials(caller)
        if found["project"] != cloud.project:
            raise Refusal(403, "forbidden", "The caller does not have permission")
        asked = json.loads(body)["permissions"]
        if len(asked) > _MOST:
            raise Refusal(400, "badRequest", f"At most {_MOST} permissions can be tested.")
    except Refusal as refusal:
        return refusal.status, refusal.body()
    return 200, {"permissions": list(rights.held(cloud, caller, tuple(asked)))}
