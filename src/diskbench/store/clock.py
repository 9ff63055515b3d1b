"""Times in rows: ISO 8601 text in UTC; and by which clock they are taken.

Times that several processes compare (beats, leases and their expiry, the turns of cells) are taken
by the clock of the shared database: that of PostgreSQL's server or, since SQLite has no server,
that of the machine whose processes share the file. Times of one run alone (its begin and end) are
taken by the clock of the machine that ran it.
"""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from ulid import ULID

from diskbench.store.moments import iso


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
