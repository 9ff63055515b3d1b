"""Every request demands the actions that AWS documents, on the resources that it touches, and is
refused where the caller's policy lacks one.

`service_reference.json` has, for each action, the kinds of resource that it is authorized on (`!`
required, `q` with the tags of the request, `r` with the tags of the resource). Beyond it: tags in a
create demand ec2:CreateTags with ec2:CreateAction (EC2 User Guide, "Grant permission to tag
resources during creation"); GetCallerIdentity demands nothing (STS API Reference). The account's
owner may do everything.
"""

import base64
import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from emulators.aws.call import Answer, Call, Proceed, Refusal
from emulators.aws.cloud import Cloud
from emulators.aws.policies import MAKERS, Demand, allows, denying

OWNER_KEY = "AKIADISKBENCH0000OWN"
"""The access key of the account's owner, as whom tests look: allowed everything, without lag."""
_REFERENCE = Path(__file__).with_name("service_reference.json")
_FREE = frozenset({"sts:GetCallerIdentity"})
_NAMED = {
    "image": "ami-", "instance": "i-", "volume": "vol-", "subnet": "subnet-", "vpc": "vpc-",
    "security-group": "sg-", "snapshot": "snap-", "network-interface": "eni-",
    "elastic-ip": "eipalloc-", "key-pair": "key-", "spot-instances-request": "sir-",
}  # fmt: skip
"""What the ids of a kind begin with."""
_BY_NAME = {"KeyName": "key-pair", "GroupName": "placement-group"}
_MADE = {
    "RunInstances": ("instance", "network-interface", "volume"),
    **{action: kinds for action, kinds in MAKERS.items() if action != "RunInstances"},
}
"""The kinds that a call makes, tagged or not."""


def hook(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:
    """Refuse what the caller's policy does not allow."""
    if call.access_key == OWNER_KEY:
        return proceed()
    if call.service == "sts" and call.action == "DecodeAuthorizationMessage":
        check(cloud, [Demand("sts:DecodeAuthorizationMessage", "*")], "sts")
        text = base64.urlsafe_b64decode(call.params["EncodedMessage"]).decode()
        return call.answer({"DecodedMessage": text})
    check(cloud, list(demands(call)), call.service)
    return proceed()


def check(cloud: Cloud, demanded: list[Demand], service: str) -> None:
    """Note what is demanded; raise Refusal for the first demand that is not allowed."""
    for demand in demanded:
        cloud.demanded.append(demand)
        if cloud.policy is not None and not allows(cloud.policy, demand):
            raise denied(demand, service)
        if cloud.organization is not None and (why := denying(cloud.organization, demand)):
            raise denied(demand, service, why)


def denied(demand: Demand, service: str, by: Mapping[str, Any] | None = None) -> Refusal:
    """The refusal of a demand, in the words of the service; `by` is the statement of the
    organisation that denies it. EC2 encodes what was denied (STS API Reference,
    DecodeAuthorizationMessage)."""
    if service == "ec2":
        text = json.dumps(
            {
                "allowed": False,
                "explicitDeny": by is not None,
                "matchedStatements": {"items": [_matched(by)] if by else []},
                "context": {"action": demand.action, "resource": demand.resource},
                "conditions": {"items": _items(demand.context)},
            }
        )
        encoded = base64.urlsafe_b64encode(text.encode()).decode()
        who = (
            f"User: arn:aws:iam::123456789012:user/diskbench is not authorized to perform: "
            f"{demand.action} on resource: {demand.resource} with an explicit deny in a service "
            "control policy. "
        )
        return Refusal(
            "UnauthorizedOperation",
            f"You are not authorized to perform this operation. {who if by else ''}Encoded "
            f"authorization failure message: {encoded}",
            status=403,
        )
    code = "AccessDenied" if service == "sts" else "AccessDeniedException"
    return Refusal(
        code,
        f"User: arn:aws:iam::123456789012:user/diskbench is not authorized to perform: "
        f"{demand.action} on resource: {demand.resource} because no identity-based policy allows "
        f"the {demand.action} action",
        status=403 if service == "sts" else 400,
    )


def _matched(statement: Mapping[str, Any]) -> dict[str, Any]:
    """A statement as the decoded message has it."""
    keys = {
        key: _tuple(value)
        for condition in statement.get("Condition", {}).values()
        for key, value in condition.items()
    }
    return {
        "statementId": statement["Sid"],
        "effect": "DENY",
        "conditions": {"items": _items(keys)},
    }


def _items(keys: Mapping[str, tuple[str, ...]]) -> list[dict[str, Any]]:
    return [
        {"key": key, "values": {"items": [{"value": value} for value in values]}}
        for key, values in keys.items()
    ]


def _tuple(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def demands(call: Call) -> Iterator[Demand]:
    """What the call demands."""
    action = f"{call.service}:{call.action}"
    if action in _FREE:
        return
    kinds = reference().get(action, {})
    if call.service == "iam" and call.action == "GetRole":
        name = call.params["RoleName"]
        path = "aws-service-role/spot.amazonaws.com/" if name.startswith("AWSService") else ""
        yield Demand(action, f"arn:aws:iam::{call.response.current_account}:role/{path}{name}")
        return
    if call.service != "ec2" or not kinds:
        yield Demand(action, "*")
        return
    if call.action == "CreateTags":
        yield from _tagging(call)
        return
    tagged = _tag_specifications(call)
    touched = list(_touched(call, kinds))
    made = [*_MADE.get(call.action, ()), *_market(call)]
    for kind, identifier in touched:
        yield Demand(action, _arn(call, kind, identifier), _of_resource(call, identifier))
    for kind in made:
        context = _of_request(tagged.get(kind, {}))
        if kind == "volume":
            context["ec2:Encrypted"] = _encrypted(call)
        yield Demand(action, _arn(call, kind, "*"), context)
    if not touched and not made:
        yield Demand(action, "*")
    for kind, tags in tagged.items():
        yield Demand(
            "ec2:CreateTags",
            _arn(call, kind, "*"),
            {**_of_request(tags), "ec2:CreateAction": (call.action,)},
        )


def kms_demands(call: Call, key: str) -> list[Demand]:
    """What a volume encrypted with a customer's key demands of whoever makes it (EBS User Guide,
    "Requirements for Amazon EBS encryption", read 2026-11-23)."""
    via = {"kms:ViaService": (f"ec2.{call.region}.amazonaws.com",)}
    grant = {**via, "kms:GrantIsForAWSResource": ("true",)}
    words = ("Decrypt", "DescribeKey", "GenerateDataKeyWithoutPlaintext", "ReEncryptFrom",
             "ReEncryptTo")  # fmt: skip
    return [
        Demand("kms:CreateGrant", key, grant),
        *(Demand(f"kms:{word}", key, via) for word in words),
    ]


def opens_volumes(cloud: Cloud, call: Call, named: str | None) -> bool:
    """Whether a volume can be encrypted with the key that the request names, or by default with the
    account's: EC2 asks KMS only when the call was answered already."""
    key = cloud.encrypts_with if named is None else _usable(call, named)
    if named is not None and key is None:
        return False
    if key is None or call.access_key == OWNER_KEY:
        return True
    wanted = kms_demands(call, key)
    cloud.demanded.extend(wanted)
    return cloud.policy is None or all(allows(cloud.policy, one) for one in wanted)


def _usable(call: Call, named: str) -> str | None:
    """The ARN of an enabled key by its id, alias or ARN."""
    from moto.kms.models import kms_backends

    kms = kms_backends[call.response.current_account][call.region]
    alias = kms.get_alias_name(named)
    found = kms.get_key_id_from_alias(alias) if alias.startswith("alias/") else named
    key = kms.keys.get(kms.get_key_id(found or ""))
    return str(key.arn) if key is not None and key.key_state == "Enabled" else None


@functools.cache
def reference() -> Mapping[str, Mapping[str, str]]:
    """Action → kind of resource → its flags."""
    document: dict[str, dict[str, dict[str, str]]] = json.loads(_REFERENCE.read_text("utf-8"))
    return document["actions"]


def _tagging(call: Call) -> Iterator[Demand]:
    """CreateTags by itself: on each resource, with its tags and those of the request."""
    tags = {one["Key"]: one.get("Value", "") for one in call.params.get("Tags", [])}
    for identifier in call.params.get("Resources", []):
        kind = next((k for k, begin in _NAMED.items() if identifier.startswith(begin)), "*")
        context = {**_of_resource(call, identifier), **_of_request(tags)}
        yield Demand("ec2:CreateTags", _arn(call, kind, identifier), context)


def _touched(call: Call, kinds: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Kind and id of the existing resources that the call names, of those that count."""
    made = set(_MADE.get(call.action, ()))
    for name, value in strings(call.params):
        if name in _BY_NAME and call.action not in {"ImportKeyPair", "CreateSecurityGroup"}:
            if _BY_NAME[name] in kinds:
                yield _BY_NAME[name], value
            continue
        for kind, begin in _NAMED.items():
            if value.startswith(begin) and kind in kinds and kind not in made:
                yield kind, value


def _encrypted(call: Call) -> tuple[str]:
    """Whether the volumes of the call are all asked for with encryption."""
    disks = [one["Ebs"] for one in call.params.get("BlockDeviceMappings", []) if "Ebs" in one]
    asked = [disk.get("Encrypted", False) for disk in (disks or [call.params])]
    return ("true" if all(asked) else "false",)


def _market(call: Call) -> tuple[str, ...]:
    spot = call.params.get("InstanceMarketOptions", {}).get("MarketType") == "spot"
    return ("spot-instances-request",) if spot else ()


def strings(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every string in the parameters that may be an id, with the name of its parameter."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key not in {"TagSpecifications", "UserData", "Filters", "ClientToken"}:
                yield from strings(item, key)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item, name)
    elif isinstance(value, str):
        yield name, value


def _tag_specifications(call: Call) -> dict[str, dict[str, str]]:
    return {
        one["ResourceType"]: {tag["Key"]: tag.get("Value", "") for tag in one.get("Tags", [])}
        for one in call.params.get("TagSpecifications", [])
    }


def _of_request(tags: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    if not tags:
        return {}
    return {**{f"aws:RequestTag/{k}": (v,) for k, v in tags.items()}, "aws:TagKeys": tuple(tags)}


def _of_resource(call: Call, identifier: str) -> dict[str, tuple[str, ...]]:
    key_pairs = {pair.id: pair for pair in call.ec2.key_pairs.values()}
    known = call.ec2.key_pairs.get(identifier) or key_pairs.get(identifier)
    tags = call.ec2.tags.get(known.id if known is not None else identifier, {})
    return {f"aws:ResourceTag/{key}": (str(value),) for key, value in tags.items()}


def _arn(call: Call, kind: str, identifier: str) -> str:
    account = "" if kind in {"image", "snapshot"} else call.response.current_account
    return f"arn:aws:ec2:{call.region}:{account}:{kind}/{identifier}"
