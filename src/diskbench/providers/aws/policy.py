"""The permissions that diskbench needs on AWS: permissions.yaml, printed as a policy of IAM."""

import json

from diskbench.yaml_lines import packaged

_FILE = packaged("diskbench.providers.aws", "permissions.yaml")
_PUBLIC = ("aws", "amazonaws.com")
"""The partition and the domain that permissions.yaml names."""
_WIDTH = 100


def allowed(sid: str) -> tuple[str, ...]:
    """The actions that the statement with this id allows."""
    (actions,) = (one["Action"] for one in _FILE["statements"] if one["Sid"] == sid)
    return (actions,) if isinstance(actions, str) else tuple(actions)


def actions() -> frozenset[str]:
    """All actions."""
    return frozenset(action for one in _FILE["statements"] for action in allowed(one["Sid"]))


LOOK = allowed("Look")
CHANGE = allowed("ChangeWhatCarriesTheTag")
SPOT_ROLE = "AWSServiceRoleForEC2Spot"


def policy(region: str | None = None) -> str:
    """The policy in IAM's form, for the partition of a region (default: the public cloud)."""
    begins = (begin for begin in _FILE["partitions"] if (region or "").startswith(begin))
    partition, domain = _FILE["partitions"].get(next(begins, None), _PUBLIC)
    statements = [{"Sid": one["Sid"], "Effect": "Allow", **one} for one in _FILE["statements"]]
    text = _written({"Version": "2012-10-17", "Statement": statements})
    text = text.replace("arn:aws:", f"arn:{partition}:")
    return text.replace('"ec2.*.amazonaws.com"', f'"ec2.*.{domain}"')


def _written(value: object, indent: int = 0) -> str:
    """JSON with what fits into a line in one."""
    flat = json.dumps(value)
    if indent + len(flat) <= _WIDTH or not isinstance(value, dict | list):
        return flat
    begin = " " * (indent + 2)
    if isinstance(value, list):
        inside = [f"{begin}{_written(one, indent + 2)}" for one in value]
    else:
        inside = [f"{begin}{json.dumps(k)}: {_written(v, indent + 2)}" for k, v in value.items()]
    opened, closed = "[]" if isinstance(value, list) else "{}"
    return "\n".join([opened, ",\n".join(inside), " " * indent + closed])
