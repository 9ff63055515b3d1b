"""What `diskbench doctor` asks every cloud: whether its clock agrees with this machine's, and dry
runs, the requests of a rental, sent so that the cloud checks them and makes nothing."""

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from pydantic import SecretBytes

from diskbench import __version__
from diskbench.errors import AccessDenied, DiskbenchError, Unanswered
from diskbench.model.finding import Finding, FindingState, finding
from diskbench.model.rental import Claim, SshAccess
from diskbench.ports import Host
from diskbench.providers.error_table import refused
from diskbench.providers.keys import LeaseKeys, lease_keys

WARN_S = 10.0
"""Our choice: a Date header counts whole seconds, and an answer may take some."""
REFUSED_S = 300.0
"""AWS refuses signatures that are five minutes off (IAM User Guide, "Signature Version 4 request
elements"); Google's tokens and Azure's are of that order."""
_ADVICE = "set the clock: timedatectl set-ntp true (or start chronyd)"


def skew(where: str, cloud_time: datetime | None, before: datetime, after: datetime) -> Finding:
    """The finding for a cloud that reported `cloud_time` between our `before` and `after`."""
    if cloud_time is None:
        return finding("clock", where, "warning", "the cloud does not report its time")
    # The cloud truncates to whole seconds, so the true time may be up to one second later.
    early = (before - cloud_time).total_seconds() - 1
    late = (cloud_time - after).total_seconds()
    off = max(early, late, 0.0)
    if off <= WARN_S:
        words = "agrees with the cloud's" + (f" to {off:.0f} s" if off else "")
        return finding("clock", where, "ok", words)
    offset = f"{off:,.0f} s {'ahead of' if early > late else 'behind'} the cloud's"
    if off < REFUSED_S:
        return finding("clock", where, "warning", offset, _ADVICE)
    refused = f"{offset}: calls are refused as out of time"
    return finding("clock", where, "problem", refused, _ADVICE)


def http_date(text: str | None) -> datetime | None:
    """The time in a Date header; None where there is none."""
    try:
        return parsedate_to_datetime(text).astimezone(UTC) if text else None
    except ValueError:
        return None


def reported_time(where: str, cloud_time: datetime | None) -> datetime:
    """The time that a cloud reported; raises CloudSilent where it reported none."""
    if cloud_time is None:
        raise refused("no time in the answer", where=where)
    return cloud_time


CHECK = "dry run"
LEASE = "rehearsal"
"""The lease id in the names and tags of rehearsed requests; nothing is made under it."""

_LEASE_S = 3600.0
"""A lease of an hour, as of a short run: clouds refuse an end that is past or years away."""


DryRun = tuple[str, Callable[[], None]]
"""One request: its name for people, and what sends it and raises the cloud's refusal."""


class Bystander:
    """A ports.RentWatch for requests that are not carried out: silent, and it stops nothing."""

    def note(self, text: str) -> None: ...

    def stopping(self) -> bool:
        return False

    @contextlib.contextmanager
    def span(self, name: str) -> Iterator[None]:  # noqa: ARG002 - the protocol's
        yield

    def host(self, access: SshAccess, address: str) -> Host:  # noqa: ARG002 - the protocol's
        raise AssertionError("a rehearsal reaches no machine")

    def secret(self) -> SecretBytes:
        """A new one, because no key of a rehearsal is used."""
        return SecretBytes(secrets.token_bytes(32))


def nobody(tags: tuple[tuple[str, str], ...] = ()) -> Claim:
    """The claim that rehearsed requests carry, with the user's own `tags`."""
    end = time.time() + _LEASE_S
    return Claim(lease_id=LEASE, expires_at=end, owner="doctor", version=__version__, tags=tags)


def unused_keys() -> LeaseKeys:
    """Keys that are not stored: a request without keys would differ from that of a run."""
    return lease_keys(Bystander().secret(), LEASE)


def rehearsed(
    where: str, runs: Sequence[DryRun], *, advice: str, untried: str = ""
) -> list[Finding]:
    """One finding for each request, in order. `advice` is for a request that is not permitted;
    `untried` says which requests the cloud cannot check, and why."""
    findings = []
    for what, send in runs:
        state: FindingState = "ok"
        words, to_do = "would be accepted", ""
        try:
            send()
        except DiskbenchError as error:
            state, words, to_do = "problem", error.message, error.advice
            if isinstance(error, AccessDenied):
                to_do = advice
            elif isinstance(error, Unanswered):
                state, to_do = "warning", "try again"
        findings.append(finding(CHECK, where, state, f"{what}: {words}", to_do))
    if untried:
        findings.append(finding(CHECK, where, "ok", f"not tried: {untried}"))
    return findings
