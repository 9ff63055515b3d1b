"""Policies of IAM, evaluated: what an identity's statements allow. Pure.

IAM User Guide, "Policy evaluation logic" and "Condition operators": an explicit Deny wins, then any
Allow; a condition on a key that the request lacks fails, but for Null and the ForAllValues form.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

Context = Mapping[str, tuple[str, ...]]
"""Condition keys and their values; a key that the request does not have is absent."""


@dataclass(frozen=True)
class Demand:
    """What one request needs: an action on one resource, with its condition keys."""

    action: str
    resource: str
    context: Context = field(default_factory=dict)


def allows(policy: str | Mapping[str, Any], demand: Demand) -> bool:
    """Whether the policy allows the demand."""
    document = json.loads(policy) if isinstance(policy, str) else policy
    effects = {
        statement["Effect"] for statement in document["Statement"] if _applies(statement, demand)
    }
    return "Allow" in effects and "Deny" not in effects


MAKERS = {
    "RunInstances": ("instance", "network-interface", "spot-instances-request", "volume"),
    "CreateVolume": ("volume",),
    "CreateSnapshot": ("snapshot",),
    "CreateSecurityGroup": ("security-group",),
    "ImportKeyPair": ("key-pair",),
    "AuthorizeSecurityGroupIngress": ("security-group-rule",),
}
"""The calls with which diskbench makes things, and their kinds."""


def denying(policy: str | Mapping[str, Any], demand: Demand) -> Mapping[str, Any] | None:
    """The statement of a policy that explicitly denies the demand; None where none does."""
    document = json.loads(policy) if isinstance(policy, str) else policy
    return next(
        (one for one in document["Statement"] if one["Effect"] == "Deny" and _applies(one, demand)),
        None,
    )


def demanding_tags(*keys: str) -> str:
    """A service control policy as companies have them: whatever EC2 makes has these tags from its
    creation on (AWS Organizations User Guide, "Example SCPs for tagging resources")."""
    return json.dumps({
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": f"{action}{number}",
                "Effect": "Deny",
                "Action": f"ec2:{action}",
                "Resource": [f"arn:aws*:ec2:*:*:{kind}/*" for kind in kinds],
                "Condition": {"Null": {f"aws:RequestTag/{key}": "true"}},
            }
            for number, key in enumerate(keys)
            for action, kinds in MAKERS.items()
        ],
    })  # fmt: skip


UNENCRYPTED = json.dumps({
    "Version": "2012-10-17",
    "Statement": [
        {
            "Sid": "Encrypt",
            "Effect": "Deny",
            "Action": ["ec2:RunInstances", "ec2:CreateVolume"],
            "Resource": "arn:aws*:ec2:*:*:volume/*",
            "Condition": {"Bool": {"ec2:Encrypted": "false"}},
        }
    ],
})  # fmt: skip
"""A service control policy against volumes without encryption."""


def _applies(statement: Mapping[str, Any], demand: Demand) -> bool:
    return (
        any(fnmatchcase(demand.action.lower(), one.lower()) for one in _list(statement["Action"]))
        and any(fnmatchcase(demand.resource, one) for one in _list(statement["Resource"]))
        and all(
            _holds(operator, _list(wanted), demand.context.get(key))
            for operator, keys in statement.get("Condition", {}).items()
            for key, wanted in keys.items()
        )
    )


def _holds(operator: str, wanted: list[str], found: tuple[str, ...] | None) -> bool:
    quantifier, _, name = operator.rpartition(":")
    if name == "Null":
        return (found is None) == (wanted == ["true"])
    if found is None:
        return quantifier == "ForAllValues"
    compare = _OPERATORS[name]
    matches = (any(compare(value, one) for one in wanted) for value in found)
    return all(matches) if quantifier == "ForAllValues" else any(matches)


def _list(value: str | Iterable[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


_OPERATORS = {
    "StringEquals": lambda value, wanted: value == wanted,
    "StringLike": fnmatchcase,
    "Bool": lambda value, wanted: value.lower() == wanted.lower(),
}
