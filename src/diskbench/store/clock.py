"""Time as it stands in rows: ISO 8601 text in UTC."""

from datetime import UTC, datetime


def now() -> str:
    """The present, UTC, with microseconds."""
    return iso(datetime.now(UTC))


def iso(moment: datetime) -> str:
    """A moment as rows hold it: always UTC and always 32 characters, so that text sorts as time."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def ulid_time(ulid: str) -> str | None:
    """When a ULID was made, to the millisecond; None when it is no ULID."""
    from ulid import ULID

    try:
        return iso(ULID.from_str(ulid.upper()).datetime)
    except ValueError:
        return None
