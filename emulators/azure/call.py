"""One request to the emulated Azure Resource Manager, and how it is answered or refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emulators.azure.cloud import Cloud


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
        retry_after: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.target = target
        self.retry_after = retry_after

    @property
    def error(self) -> dict[str, Any]:
        """The error object."""
        found: dict[str, Any] = {"code": self.code, "message": self.message}
        return found | ({"target": self.target} if self.target else {})

    def answer(self) -> Answer:
        """The refused request's answer."""
        after = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return Answer(self.status, {"error": self.error}, after)


Handler = Callable[["Cloud", Call], Answer]

GROUP = "/subscriptions/{sub}/resourceGroups/{group}"


@dataclass(frozen=True)
class Route:
    """Which requests a handler answers. `path` has {names}; a name ending in + takes slashes too.
    `action` is what the caller must be allowed to do, with {names} of the path in it; what the body
    demands beside it is in rights.py."""

    method: str
    path: str
    action: str
    handler: Handler
    pattern: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        text = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.path)
        text = re.sub(r"\{(\w+)\+\}", r"(?P<\1>.+)", text)
        object.__setattr__(self, "pattern", re.compile(text, re.IGNORECASE))


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
