"""The day on which a cloud is asked."""

from datetime import UTC, datetime


def today() -> str:
    """Today in UTC, as sources are dated: `2026-11-21`."""
    return datetime.now(UTC).date().isoformat()
