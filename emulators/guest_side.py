"""What a guest asks of its cloud's own servers, and what they answer. Pure.

The servers of a cloud (`aws/imds.py`, `azure/imds.py`, `azure/wire_server.py`,
`gcp/metadata_server.py`) are functions from a request to an answer; tests/qemu serves them to real
guests at the addresses at which a guest looks for them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

IMDS_ADDRESS = "169.254.169.254"
"""The address of the metadata server of all three clouds."""


@dataclass(frozen=True)
class Asked:
    """One HTTP request. Names of headers are in lower case."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True)
class Answer:
    """One HTTP answer."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


Server = Callable[[Asked], Answer]


def text(body: str, status: int = 200, **headers: str) -> Answer:
    """An answer in plain text; underscores in names of headers mean dashes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, body.encode(), {"Content-Type": "text/plain", **named})
