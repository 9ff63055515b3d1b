"""Times of database rows (ISO 8601 in UTC) for a reader, and the text for an unknown time."""

from __future__ import annotations

from datetime import UTC, datetime

NO_DATE = "no date"
"""Text for a run imported from a file without a time."""


def local_time(utc: str | None) -> str:
    """A time of a row in the local timezone."""
    if not utc:
        return NO_DATE
    return datetime.fromisoformat(utc).astimezone().strftime("%Y-%m-%d %H:%M")


def utc_moment(utc: str | None) -> str:
    """A time of a row in UTC with its zone, for output that is read elsewhere and later."""
    if not utc:
        return NO_DATE
    return datetime.fromisoformat(utc).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
