"""Compute Engine's metadata server of one instance. Pure.

Compute Engine, "About VM metadata" and "Query VM metadata": every request needs the header
`Metadata-Flavor: Google`; directories end in a slash, and come as JSON with `recursive=true`;
`wait_for_change=true` holds the answer until something changed or `timeout_sec` is over: the caller
of `answer` waits (`waits`). Guest attributes are refused unless the metadata enable them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from emulators.gcp.metadata import items
from emulators.guest_side import Answer, Asked, text

_ROOT = "/computeMetadata/v1/"
_ETAG = "411261ca6c9e4f0d"


@dataclass(frozen=True)
class MetadataServer:
    """The server of one instance: `tree` is what is below /computeMetadata/v1/."""

    tree: Mapping[str, Any]

    def answer(self, asked: Asked) -> Answer:
        """What the server answers."""
        if asked.headers.get("metadata-flavor") != "Google":
            return text("Missing Metadata-Flavor:Google header.", 403)
        if not asked.path.startswith(_ROOT):
            return text("Not Found", 404)
        if asked.method != "GET":
            return text("Guest attributes endpoint access is disabled.", 403)
        names = [name for name in asked.path.removeprefix(_ROOT).split("/") if name]
        found: Any = self.tree
        for name in names:
            found = found.get(_camel(name)) if isinstance(found, Mapping) else None
            if found is None:
                return text("Not Found", 404)
        told = {"ETag": _ETAG, "Metadata-Flavor": "Google"}
        if not isinstance(found, Mapping | list):
            return Answer(200, str(found).encode(), {"Content-Type": "application/text", **told})
        if asked.query.get("recursive", "").lower() == "true":
            body = json.dumps(found).encode()
            return Answer(200, body, {"Content-Type": "application/json", **told})
        listed = found if isinstance(found, Mapping) else range(len(found))
        return Answer(200, "\n".join(map(str, listed)).encode(), told)


def waits(asked: Asked) -> float:
    """For how many seconds the answer is held: nothing ever changes here."""
    unchanged = asked.query.get("last_etag") == _ETAG
    if asked.query.get("wait_for_change", "").lower() != "true" or not unchanged:
        return 0.0
    return float(asked.query.get("timeout_sec", "3600"))


def metadata_server(
    instance: Mapping[str, Any], *, instance_id: str, project: str, zone: str, mac: str
) -> MetadataServer:
    """The metadata of the instance that `instances.insert` makes of `instance`."""
    name = instance["name"]
    number = 1234567890
    return MetadataServer(
        {
            "instance": {
                "attributes": items(instance["metadata"]),
                "cpuPlatform": "Intel Broadwell",
                "description": instance.get("description", ""),
                "disks": [{"deviceName": "persistent-disk-0", "index": 0, "mode": "READ_WRITE"}],
                "hostname": f"{name}.{zone}.c.{project}.internal",
                "id": int(instance_id),
                "machineType": f"projects/{number}/{instance['machineType'].split('/', 2)[2]}",
                "name": name,
                "networkInterfaces": [
                    {"ip": "10.128.0.2", "mac": mac, "mtu": 1460,
                     "network": f"projects/{number}/networks/default"}
                ],
                "zone": f"projects/{number}/zones/{zone}",
            },
            "project": {
                "attributes": {}, "numericProjectId": number, "projectId": project,
            },
        }
    )  # fmt: skip


def _camel(name: str) -> str:
    """The name in the tree: `network-interfaces` in a path; attributes keep their names."""
    if name in {"ssh-keys", "user-data", "enable-oslogin", "block-project-ssh-keys"}:
        return name
    first, *rest = name.split("-")
    return first + "".join(word.capitalize() for word in rest)
