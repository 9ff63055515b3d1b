"""Points in time as people type them, as intervals of the text that rows hold."""

import re
from datetime import UTC, datetime, timedelta

from diskbench.errors import InvalidValue

_AGO = re.compile(r"^(\d+)\s*([smhdw])$")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DATE_LENGTH = len("2026-11-21")


def parse_moment(text: str) -> tuple[str, str]:
    """`2026-11-21` (that day), `2026-11-21T10:00` (that microsecond), `7d` (ago), as it is in rows:
    from the first up to but not including the second.

    A time without an offset is UTC, as everything in rows is. Raises InvalidValue.
    """
    ago = _AGO.match(text.strip())
    try:
        if ago:
            back = timedelta(seconds=int(ago[1]) * _SECONDS[ago[2]])
            start, covers = datetime.now(UTC) - back, timedelta(microseconds=1)
        else:
            start = datetime.fromisoformat(text.strip())
            start = start if start.tzinfo else start.replace(tzinfo=UTC)
            is_date = len(text.strip()) <= _DATE_LENGTH
            covers = timedelta(days=1) if is_date else timedelta(microseconds=1)
        return iso(start), iso(start + covers)
    except (ValueError, OverflowError):
        raise InvalidValue(
            f"{text!r} is not a time",
            advice="write 2026-11-21, 2026-11-21T10:00+01:00, or 36h, 7d, 4w (ago)",
        ) from None


def iso(moment: datetime) -> str:
    """A time in the format of rows: UTC and 32 characters, so that text sorts by time."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
