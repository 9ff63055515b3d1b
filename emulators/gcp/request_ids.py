"""Request ids: the same request twice is done once, another one with the same id is refused.

Description of `requestId` in the discovery document: a valid UUID, not the zero one; the server
"will ignore the second request". What was refused did not use the id up. That the id of another
request is refused is a choice of ours, on the safe side: the document does not say.
"""

import json
import uuid
from collections.abc import Callable
from typing import Any

from emulators.gcp.call import Call, invalid
from emulators.gcp.cloud import Cloud


def once(cloud: Cloud, call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Answer a repeated request with the operation of the first one."""
    given = call.query.get("requestId")
    if given is None:
        return proceed()
    try:
        is_zero = not uuid.UUID(given).int
    except ValueError:
        is_zero = True
    if is_zero:
        raise invalid("requestId", given, "Must be a valid, non-zero UUID.")
    key = (call.project, given.lower())
    query = {name: value for name, value in call.query.items() if name != "requestId"}
    asked = json.dumps([call.method, call.path, query, call.body], sort_keys=True)
    if key in cloud.request_ids:
        before, operation = cloud.request_ids[key]
        if before != asked:
            raise invalid("requestId", given, "It was used for a different request.")
        return dict(cloud.operations.known[operation].row)
    answer = proceed()
    if answer.get("kind") == "compute#operation":
        cloud.request_ids[key] = (asked, f"{call.scope}/operations/{answer['name']}")
    return answer
