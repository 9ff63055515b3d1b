"""The date of a query to a cloud."""

from datetime import UTC, datetime


def today() -> str:
    """Today's date in UTC in the form of the catalogue's sources: `2026-11-21`."""
    return datetime.now(UTC).date().isoformat()
