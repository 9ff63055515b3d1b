"""What diskspd reports of one timespan, whichever form it is read from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from diskbench.errors import InvalidValue
from diskbench.limits import COUNTER

MS_NS: Final = 1e6
"""Nanoseconds of a millisecond: diskspd prints times in ms."""


@dataclass
class Timespan:
    """One timespan: counts of each direction, and latencies in ns."""

    seconds: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    latency: dict[str, dict[str, float]] = field(default_factory=dict)
    percentiles: dict[str, dict[float, float]] = field(default_factory=dict)
    profile: dict[str, str] = field(default_factory=dict)


def whole_count(text: str, where: str) -> int:
    """A count of I/Os or bytes. Raises InvalidValue for what is no whole number, or too large."""
    if not text.isascii() or not text.isdigit() or len(text) > 19 or int(text) > COUNTER:
        raise InvalidValue(f"{where}: {text[:40]!r} is not a count")
    return int(text)
