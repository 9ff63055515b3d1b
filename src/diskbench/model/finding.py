"""The findings of `diskbench doctor`, and the requests to a cloud with their answers that
`diskbench doctor --live` writes to a file.
"""

from typing import Any, Literal

from pydantic import Field

from diskbench.errors import DiskbenchError
from diskbench.model.base import Frozen

FindingState = Literal["ok", "warning", "problem"]


class Finding(Frozen):
    """One check: its state, what was seen, and what to do next if it is not `ok`.

    A `problem` stops a run, or what must hold after one; a `warning` may. `where` is
    `this machine`, or a provider and the region looked at. `check` names the kind of thing:
    credentials, permissions, quota, clock, fio, ssh, database, evidence …
    """

    check: str
    where: str
    state: FindingState
    told: str
    advice: str = ""


def finding(check: str, where: str, state: FindingState, message: str, advice: str = "") -> Finding:
    """Return a finding; see there."""
    return Finding(check=check, where=where, state=state, told=message, advice=advice)


class Quota(Frozen):
    """How much of something an account may have at once in a region.

    `kind` is ours (machines, vcpus, spot-vcpus, disks, disk-gib, addresses), `of` the disk types
    or the family of machines that it counts (none: all), `name` the cloud's own word. `limit` and
    `used` are None where the cloud does not say. `common`: it counts the usual machines, so it is
    shown even where none of them runs.
    """

    kind: str
    of: tuple[str, ...] = ()
    name: str
    region: str
    limit: float | None
    used: float | None = None
    common: bool = False


class Need(Frozen):
    """What a matrix has at once at most, in the words of Quota."""

    provider: str
    region: str
    kind: str
    of: str = ""
    amount: float


class DoctorDocument(Frozen):
    """What `diskbench doctor --output json` prints. Within a format number fields are only
    added."""

    format: Literal[1] = 1
    state: FindingState
    findings: tuple[Finding, ...]


def worst_state(findings: tuple[Finding, ...]) -> FindingState:
    """Return the worst state of all findings; ok without any."""
    states = {finding.state for finding in findings}
    return "problem" if "problem" in states else "warning" if "warning" in states else "ok"


def refusal(check: str, where: str, error: DiskbenchError) -> Finding:
    """Return an error as a finding."""
    return finding(check, where, "problem", error.message, error.advice)


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
