"""Times in rows: ISO 8601 text in UTC; by which clock they are taken; and as people type them.

Times that several processes compare (beats, leases and their expiry, the turns of cells) are taken
by the clock of the shared database: that of PostgreSQL's server or, since SQLite has no server,
that of the machine whose processes share the file. Times of one run alone (its begin and end) are
taken by the clock of the machine that ran it.
"""

import re
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from ulid import ULID

from diskbench.errors import InvalidValue


class present(FunctionElement[str]):  # noqa: N801 - an SQL function, named as those of SQLAlchemy
    """The database's present time in the format of rows, for use in a statement."""

    type = sa.Text()
    inherit_cache = True


@compiles(present, "sqlite")
def _present_on_sqlite(_element: present, _compiler: object, **_: object) -> str:
    return "(strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000+00:00')"


@compiles(present, "postgresql")
def _present_on_postgresql(_element: present, _compiler: object, **_: object) -> str:
    moment = "clock_timestamp() AT TIME ZONE 'UTC'"
    return f'to_char({moment}, \'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"\')'


def now() -> str:
    """This machine's present time, UTC, with microseconds."""
    return iso(datetime.now(UTC))


def ulid_time(ulid: str) -> str | None:
    """The time in a ULID, to the millisecond; None when `ulid` is no ULID."""
    try:
        return iso(ULID.from_str(ulid.upper()).datetime)
    except ValueError:
        return None


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
            start = moment_of(text.strip())
            is_date = len(text.strip()) <= _DATE_LENGTH
            covers = timedelta(days=1) if is_date else timedelta(microseconds=1)
        return iso(start), iso(start + covers)
    except (ValueError, OverflowError):
        raise InvalidValue(
            f"{text!r} is not a time",
            advice="write 2026-11-21, 2026-11-21T10:00+01:00, or 36h, 7d, 4w (ago)",
        ) from None


def moment_of(text: str) -> datetime:
    """A time in ISO 8601 as rows have it; without an offset it is UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def iso(moment: datetime) -> str:
    """A time in the format of rows: UTC and 32 characters, so that text sorts by time."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
