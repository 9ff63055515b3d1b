"""One request to the emulated Azure Resource Manager, and how it is answered or refused."""

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Call:
    """A request. `names` are the parts of its path that its route names; `base` is the endpoint."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    base: str
    token: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    action: str = ""
    """As role definitions name it: Microsoft.Compute/disks/write."""

    @property
    def group_id(self) -> str:
        """The id of the resource group that the path names."""
        return f"/subscriptions/{self.names['sub']}/resourceGroups/{self.names['group']}"


@dataclass(frozen=True)
class Answer:
    """An HTTP answer; a body of None is none at all."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


class Refusal(Exception):  # noqa: N818 - named for what happened
    """An error as ARM answers it, or as an operation ends with: code, message and HTTP status."""

    def __init__(
        self, code: str, message: str, *, status: int = 400, target: str | None = None,
        retry_after: int | None = None, more: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.target = target
        self.retry_after = retry_after
        self.more = more or {}
        """Further members of the error: details, additionalInfo."""

    @property
    def error(self) -> dict[str, Any]:
        """The error object."""
        found: dict[str, Any] = {"code": self.code, "message": self.message}
        return found | ({"target": self.target} if self.target else {}) | dict(self.more)

    def answer(self) -> Answer:
        """The refused request's answer."""
        after = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return Answer(self.status, {"error": self.error}, after)


_FILTER = re.compile(r"tagName eq '([^']*)'(?: and tagValue eq '([^']*)')?")
GROUP = "/subscriptions/{sub}/resourceGroups/{group}"


def not_found(kind: str, name: str, group: str) -> Refusal:
    """What is not there: `kind` is its full type."""
    return Refusal(
        "ResourceNotFound",
        f"The Resource '{kind}/{name}' under resource group '{group}' was not found. For more "
        "details please go to https://aka.ms/ARMResourceNotFoundFix",
        status=404,
    )


def wrong(message: str, target: str | None = None) -> Refusal:
    """A parameter that Azure does not take."""
    return Refusal("InvalidParameter", message, target=target)


def filtered(call: Call, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that the call's $filter lets through: by a tag's name and value."""
    wanted = call.query.get("$filter")
    if wanted is None:
        return found
    words = _FILTER.fullmatch(wanted)
    if words is None:
        raise Refusal("InvalidFilterInQueryString", f"Invalid $filter '{wanted}' specified.")
    name, value = words.groups()
    return [one for one in found if _has_tag(one.get("tags") or {}, name, value)]


def _has_tag(tags: Mapping[str, str], name: str, value: str | None) -> bool:
    found = {key.lower(): one for key, one in tags.items()}
    return name.lower() in found and value in {None, found[name.lower()]}


def now() -> str:
    """This moment: 2023-01-11T06:17:21.2794447+00:00, with seven digits."""
    return f"{dt.datetime.now(dt.UTC):%Y-%m-%dT%H:%M:%S.%f}0+00:00"
