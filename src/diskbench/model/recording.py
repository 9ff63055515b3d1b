"""Requests to a cloud with their answers, as `diskbench doctor --live` writes them to a file."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from diskbench.model.base import Frozen
from diskbench.model.finding import Finding


class Exchange(Frozen):
    """One request and its answer. Names of headers are in lower case; a body that is JSON is kept
    as its value, any other as text, none as None."""

    method: str
    url: str
    """Path and query, without the host."""
    sent: dict[str, str] = Field(default_factory=dict)
    """The headers of the request."""
    asked: Any = None
    status: int
    headers: dict[str, str] = Field(default_factory=dict)
    body: Any = None

    @property
    def path(self) -> str:
        """The URL without its query."""
        return self.url.partition("?")[0]

    @property
    def api_version(self) -> str:
        """The value of `api-version` in the query; "" where there is none."""
        return self.url.rpartition("api-version=")[2].partition("&")[0]


class Recording(Frozen):
    """What one `diskbench doctor --live` asked a cloud and was answered, without what is private.

    `flags` are the words that were typed after `doctor`; with them and the exchanges it can be
    replayed. `findings` are what it reported.
    """

    format: Literal[1] = 1
    diskbench_version: str
    provider: str
    flags: tuple[str, ...]
    findings: tuple[Finding, ...]
    exchanges: tuple[Exchange, ...]
