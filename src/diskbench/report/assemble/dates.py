"""Times of rows (ISO 8601 in UTC) for a reader, and what stands where nobody knows one."""

from __future__ import annotations

from datetime import datetime

NO_DATE = "no date"
"""Of what was imported from a file that tells no time."""


def local_time(utc: str | None) -> str:
    """A time of a row as its reader's clock showed it."""
    if not utc:
        return NO_DATE
    return datetime.fromisoformat(utc).astimezone().strftime("%Y-%m-%d %H:%M")


def local_moment(utc: str | None) -> str:
    """The same with its zone, for what is read elsewhere and later."""
    if not utc:
        return NO_DATE
    return datetime.fromisoformat(utc).astimezone().strftime("%Y-%m-%d %H:%M %Z")
