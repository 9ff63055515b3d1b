"""What a disk is made with or from, by its id: disk encryption sets and snapshots.

Microsoft.Compute/diskEncryptionSets and /snapshots (azure-mgmt-compute 39.0.0, DiskEncryptionSet
and Snapshot): a set belongs to a region; a snapshot has the size of its disk, and a disk that is
made from it is as large or larger.
"""

import copy
import subprocess
import uuid
from pathlib import Path
from typing import Any

from emulators.azure import schema
from emulators.azure.call import GROUP, Answer, Call, Refusal, not_found, now, wrong
from emulators.azure.cloud import Cloud, Route
from emulators.azure.groups import group_of
from emulators.azure.subscriptions import check_location

SNAPSHOT = "Microsoft.Compute/snapshots"
KEYS = "Microsoft.Compute/diskEncryptionSets"
_MODELS = {SNAPSHOT: "Snapshot", KEYS: "DiskEncryptionSet"}


def encryption(cloud: Cloud, location: str, key: str | None) -> dict[str, str]:
    """How a disk with the key of that set is shown. Raises Refusal for a set that is not there."""
    if key is None:
        return {"type": "EncryptionAtRestWithPlatformKey"}
    found = cloud.find(key)
    if found is None or found["type"] != KEYS:
        message = f"The entity diskEncryptionSet '{key}' was not found."
        raise Refusal("NotFound", message, status=404)
    if found["location"] != location:
        raise wrong(f"The disk encryption set '{key}' is not in {location}.", "diskEncryptionSetId")
    return {"type": "EncryptionAtRestWithCustomerKey", "diskEncryptionSetId": found["id"]}


def snapshot(cloud: Cloud, location: str, source: str | None, size: int) -> dict[str, Any]:
    """The snapshot that a disk of that size is copied from. Raises Refusal."""
    found = cloud.get(source or "")
    if found["type"] != SNAPSHOT or found["location"] != location:
        raise wrong(f"'{source}' is no snapshot in {location}.", "creationData.sourceResourceId")
    if size < found["properties"]["diskSizeGB"]:
        raise wrong("The disk size is smaller than that of its snapshot.", "disk.diskSizeGB")
    return found


def copy_content(cloud: Cloud, source: dict[str, Any], target: dict[str, Any]) -> None:
    """Give one document the content of another, as far as it was ever written."""
    held: Path = cloud.image(source)
    if held.exists():
        subprocess.run(["cp", "--sparse=always", held, cloud.image(target)], check=True)


def _put(cloud: Cloud, call: Call) -> Answer:
    kind = call.names["kind"]
    schema.check("compute", _MODELS[_named(kind)], call.body)
    group = group_of(cloud, call)
    body: dict[str, Any] = copy.deepcopy(call.body) or {}
    made: dict[str, Any] = {
        "name": call.names["name"],
        "id": f"{group['id']}/providers/{_named(kind)}/{call.names['name']}",
        "type": _named(kind),
        "location": check_location(body.get("location"), _named(kind)),
        "properties": {**(body.get("properties") or {}), "provisioningState": "Succeeded"},
    }
    if made["type"] == SNAPSHOT:
        source = cloud.get(str(made["properties"]["creationData"]["sourceResourceId"]))
        made["properties"] |= {
            "diskSizeGB": source["properties"]["diskSizeGB"],
            "timeCreated": now(),
            "uniqueId": str(uuid.uuid4()),
        }
        copy_content(cloud, source, made)
    return Answer(200, cloud.save(made))


def _get(cloud: Cloud, call: Call) -> Answer:
    found = cloud.find(call.path)
    if found is None:
        raise not_found(_named(call.names["kind"]), call.names["name"], call.names["group"])
    return Answer(200, found)


def _named(kind: str) -> str:
    return next(one for one in _MODELS if one.lower().endswith(f"/{kind.lower()}"))


ROUTES = tuple(
    Route(
        method, f"{GROUP}/providers/Microsoft.Compute/(?P<kind>{short})/{{name}}", action, handler
    )
    for kind in _MODELS
    for short in (kind.rpartition("/")[2],)
    for method, action, handler in (
        ("PUT", f"{kind}/write", _put),
        ("GET", f"{kind}/read", _get),
    )
)
