"""Azure's instance metadata service of one machine. Pure.

Azure, "Azure Instance Metadata Service for virtual machines": the header `Metadata: true` is
required, and so is a known api-version; JSON unless `format=text` asks for one value.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from emulators.guest_side import Answer, Asked, text

_ROOT = "/metadata/instance"
_OLDEST, _NEWEST = "2017-04-02", "2023-11-15"


@dataclass(frozen=True)
class AzureImds:
    """The service of one machine: `tree` is what is below /metadata/instance."""

    tree: Mapping[str, Any]

    def answer(self, asked: Asked) -> Answer:
        """What the service answers."""
        if asked.headers.get("metadata", "").lower() != "true":
            return _refused("Bad request. Required metadata header not specified")
        if not _OLDEST <= asked.query.get("api-version", "") <= _NEWEST:
            return _refused("Bad request. api-version is invalid or was not specified")
        if not f"{asked.path}/".startswith(f"{_ROOT}/"):
            return text("Not found", 404)
        found: Any = self.tree
        for name in filter(None, asked.path.removeprefix(_ROOT).split("/")):
            found = found.get(name) if isinstance(found, Mapping) else None
        if found is None:
            return text("Not found", 404)
        if asked.query.get("format") == "text":
            return text(str(found))
        return Answer(200, json.dumps(found).encode(), {"Content-Type": "application/json"})


def azure_imds(machine: Mapping[str, Any], *, vm_id: str, name: str, mac: str) -> AzureImds:
    """The metadata of the machine that the PUT of `machine` makes. Custom data is not in it."""
    properties = machine["properties"]
    profile = properties["osProfile"]
    linux = profile["linuxConfiguration"]
    image = properties["storageProfile"]["imageReference"]
    compute = {
        "azEnvironment": "AzurePublicCloud",
        "location": machine["location"],
        "name": name,
        "offer": image.get("offer", ""),
        "osProfile": {
            "adminUsername": profile["adminUsername"],
            "computerName": profile["computerName"],
            "disablePasswordAuthentication": str(linux["disablePasswordAuthentication"]).lower(),
        },
        "osType": "Linux",
        "placementGroupId": "",
        "platformFaultDomain": "0",
        "platformUpdateDomain": "0",
        "publicKeys": linux["ssh"]["publicKeys"],
        "publisher": image.get("publisher", ""),
        "resourceGroupName": name.removesuffix("-machine"),
        "sku": image.get("sku", ""),
        "subscriptionId": "00000000-0000-0000-0000-000000000000",
        "tags": "",
        "version": image.get("version", ""),
        "vmId": vm_id,
        "vmScaleSetName": "",
        "vmSize": properties["hardwareProfile"]["vmSize"],
        "zone": (machine.get("zones") or [""])[0],
    }
    addresses = [{"privateIpAddress": "10.93.0.4", "publicIpAddress": ""}]
    interface = {
        "ipv4": {
            "ipAddress": addresses,
            "subnet": [{"address": "10.93.0.0", "prefix": "24"}],
        },
        "ipv6": {"ipAddress": []},
        "macAddress": mac.replace(":", "").upper(),
    }
    return AzureImds({"compute": compute, "network": {"interface": [interface]}})


def _refused(why: str) -> Answer:
    body = json.dumps({"error": why}).encode()
    return Answer(400, body, {"Content-Type": "application/json"})
