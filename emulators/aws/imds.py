"""EC2's instance metadata service, version 2, of one instance. Pure but for the tokens it gave out.

EC2 User Guide, "Use the Instance Metadata Service to access instance metadata": a PUT to
/latest/api/token with a time to live gives a token; without one every other request is refused
with 401 where `HttpTokens` is `required`. A path that ends in a slash lists what is below it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from emulators.guest_side import Answer, Asked, text

_VERSION = re.compile(r"/(latest|\d{4}-\d\d-\d\d|1\.0)(/.*)?")
_LONGEST_S = 21_600


@dataclass
class Imds:
    """The service of one instance: `values` by path below the version, as `meta-data/mac`."""

    values: Mapping[str, str]
    tokens: set[str] = field(default_factory=set)

    def answer(self, asked: Asked) -> Answer:
        """What the service answers."""
        if asked.path == "/latest/api/token":
            return self._token(asked)
        if asked.headers.get("x-aws-ec2-metadata-token") not in self.tokens:
            return text("Unauthorized", 401)
        matched = _VERSION.fullmatch(asked.path)
        if matched is None:
            return text("Not Found", 404)
        path = (matched[2] or "/").strip("/")
        if path in self.values:
            return text(self.values[path])
        listing = _listing(self.values, path)
        return text("\n".join(listing)) if listing else text("Not Found", 404)

    def _token(self, asked: Asked) -> Answer:
        ttl = asked.headers.get("x-aws-ec2-metadata-token-ttl-seconds", "")
        if asked.method != "PUT":
            return text("Method Not Allowed", 405)
        if not ttl.isdecimal() or not 1 <= int(ttl) <= _LONGEST_S:
            return text("Bad Request", 400)
        token = f"token-{len(self.tokens)}"
        self.tokens.add(token)
        return text(token, X_aws_ec2_metadata_token_ttl_seconds=ttl)


def imds(
    run: Mapping[str, Any], *, instance_id: str, account: str, zone: str, mac: str, key: str
) -> Imds:
    """The metadata of the instance that the RunInstances request `run` makes; `key` is the public
    half of its key pair."""
    address = "10.0.0.10"
    region = zone.rstrip("abcdefghijklmnopqrstuvwxyz")
    identity = {
        "accountId": account,
        "architecture": "x86_64",
        "availabilityZone": zone,
        "imageId": run["ImageId"],
        "instanceId": instance_id,
        "instanceType": run["InstanceType"],
        "privateIp": address,
        "region": region,
        "version": "2017-09-30",
    }
    interface = f"network/interfaces/macs/{mac}"
    meta = {
        "ami-id": run["ImageId"],
        "hostname": "ip-10-0-0-10.ec2.internal",
        "instance-id": instance_id,
        "instance-type": run["InstanceType"],
        "local-hostname": "ip-10-0-0-10.ec2.internal",
        "local-ipv4": address,
        "mac": mac,
        "placement/availability-zone": zone,
        "placement/region": region,
        f"{interface}/device-number": "0",
        f"{interface}/local-ipv4s": address,
        f"{interface}/mac": mac,
        f"{interface}/subnet-ipv4-cidr-block": "10.0.0.0/24",
        "public-keys/0/openssh-key": f"{key} {run['KeyName']}",
        "security-groups": "default",
        "services/domain": "amazonaws.com",
        "services/partition": "aws",
    }
    return Imds(
        {
            **{f"meta-data/{path}": value for path, value in meta.items()},
            "dynamic/instance-identity/document": json.dumps(identity, indent=2),
            # RunInstances takes it plain from the SDK, which encodes it; the service decodes it.
            "user-data": run["UserData"],
        }
    )


def _listing(values: Mapping[str, str], path: str) -> list[str]:
    """What is below a path. The keys of `public-keys` carry the name of the key pair."""
    below = f"{path}/" if path else ""
    rest = [one.removeprefix(below) for one in values if one.startswith(below)]
    if path == "meta-data/public-keys":
        names = {one.partition("/")[0]: values[below + one].rpartition(" ")[2] for one in rest}
        return [f"{index}={name}" for index, name in sorted(names.items())]
    return sorted({f"{one.partition('/')[0]}{'/' if '/' in one else ''}" for one in rest})
