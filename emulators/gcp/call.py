"""One request to the emulated Compute Engine, and how it is refused."""

from dataclasses import dataclass
from typing import Any

STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ALREADY_EXISTS",
    412: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
}


@dataclass(frozen=True)
class Call:
    """A request as the discovery document reads it."""

    method: str
    path: dict[str, str]
    query: dict[str, str]
    body: dict[str, Any]
    caller: str

    @property
    def project(self) -> str:
        """The project it is for."""
        return self.path["project"]

    @property
    def scope(self) -> str:
        """`projects/p/zones/z`, `projects/p/regions/r` or `projects/p/global`."""
        for kind in ("zone", "region"):
            if kind in self.path:
                return f"projects/{self.project}/{kind}s/{self.path[kind]}"
        return f"projects/{self.project}/global"

    @property
    def place(self) -> str:
        """The zone or the region that it is for; "" for the rest."""
        return self.path.get("zone") or self.path.get("region", "")

    def names(self, parameter: str, collection: str) -> str:
        """The path of the resource that a parameter names."""
        return f"{self.scope}/{collection}/{self.path[parameter]}"


class Refusal(Exception):  # noqa: N818 - named for what happened
    """An error in answer to the request itself: HTTP status, reason and message.

    Form: Google API design guide, "Errors", as Compute v1 answers it.
    """

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{reason}: {message}")
        self.status, self.reason, self.message = status, reason, message

    def body(self) -> dict[str, Any]:
        """The answer's JSON."""
        one = {"message": self.message, "domain": "global", "reason": self.reason}
        return {
            "error": {
                "code": self.status,
                "message": self.message,
                "errors": [one],
                "status": STATUSES.get(self.status, "UNKNOWN"),
            }
        }


class LostAnswer(Exception):  # noqa: N818 - named for what happened
    """What was asked for is done, and the connection breaks before the answer is written."""


@dataclass(frozen=True)
class Failure:
    """An error inside an operation."""

    code: str
    message: str
    status: int = 400
    status_message: str = "BAD REQUEST"


def invalid(field: str, value: object, why: str = "") -> Refusal:
    """Compute's way to refuse a value."""
    return Refusal(400, "invalid", f"Invalid value for field '{field}': '{value}'. {why}".strip())


def not_found(path: str) -> Refusal:
    """Nothing has that path."""
    return Refusal(404, "notFound", f"The resource '{path}' was not found")
