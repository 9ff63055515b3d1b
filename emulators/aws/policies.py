"""Policies of IAM, evaluated: what an identity's statements allow. Pure.

IAM User Guide, "Policy evaluation logic" and "Condition operators": an explicit Deny wins, then any
Allow; a condition on a key that the request lacks fails, but for Null and the ForAllValues form.
"""

from __future__ import annotations

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
