"""The difference between this machine's clock and a cloud's."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from diskbench.errors import CloudSilent
from diskbench.model.finding import Finding, finding

if TYPE_CHECKING:
    from diskbench.model.finding import Finding, finding

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
        return finding(
            "clock", where, "ok", "agrees with the cloud's" + (f" to {off:.0f} s" if off else "")
        )
    offset = f"{off:,.0f} s {'ahead of' if early > late else 'behind'} the cloud's"
    if off < REFUSED_S:
        return finding("clock", where, "warning", offset, _ADVICE)
    return finding(
        "clock", where, "problem", f"{offset}: calls are refused as out of time", _ADVICE
    )


def http_date(text: str | None) -> datetime | None:
    """The time in a Date header; None where there is none."""
    try:
        return parsedate_to_datetime(text).astimezone(UTC) if text else None
    except ValueError:
        return None


def reported_time(where: str, cloud_time: datetime | None) -> datetime:
    """The time that a cloud reported; raises CloudSilent where it reported none."""
    if cloud_time is None:
        raise CloudSilent(
            f"{where} answered without its time (a Date header)",
            advice="check whether a proxy is between; nothing that expired is deleted meanwhile",
        )
    return cloud_time
