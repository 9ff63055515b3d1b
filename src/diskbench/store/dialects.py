"""What SQLite and PostgreSQL say in words of their own, the present time and insert-or-update by
primary key; and times in rows: ISO 8601 text in UTC, and by which clock they are taken.

Times that several processes compare (beats, leases and their expiry, the turns of cells) are taken
by the clock of the shared database: that of PostgreSQL's server or, since SQLite has no server,
that of the machine whose processes share the file. Times of one run alone (its begin and end) are
taken by the clock of the machine that ran it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from ulid import ULID

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

    Insert = sqlite.Insert | postgresql.Insert

Rows = Sequence[Mapping[str, Any]]


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


def moment_of(text: str) -> datetime:
    """A time in ISO 8601 as rows have it; without an offset it is UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def iso(moment: datetime) -> str:
    """A time in the format of rows: UTC and 32 characters, so that text sorts by time."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def insert_missing(connection: Connection, table: sa.Table, rows: Rows) -> None:
    """Insert the rows whose primary key is not there yet; leave the others as they are. One row
    alone may hold SQL expressions."""
    if rows:
        keys = list(table.primary_key.columns)
        statement = _insert(connection, table).on_conflict_do_nothing(index_elements=keys)
        _execute(connection, statement, rows)


def upsert(connection: Connection, table: sa.Table, rows: Rows) -> None:
    """Insert the rows; where the primary key is there already, take the new values.

    All rows have the same fields, which include the primary key. One row alone may hold SQL
    expressions.
    """
    if not rows:
        return
    keys = list(table.primary_key.columns)
    statement = _insert(connection, table)
    # A column that changes with every write does so here, too.
    fields = (*rows[0], *(column.name for column in table.c if column.onupdate is not None))
    of_key = {column.name for column in keys}
    changed = {name: statement.excluded[name] for name in fields if name not in of_key}
    statement = statement.on_conflict_do_update(index_elements=keys, set_=changed)
    _execute(connection, statement, rows)


def _insert(connection: Connection, table: sa.Table) -> Insert:
    # The dialect in use is imported; the other takes as long as a list of runs.
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)


def _execute(connection: Connection, statement: Insert, rows: Rows) -> None:
    (first, *others) = rows
    if not others and any(isinstance(value, sa.ClauseElement) for value in first.values()):
        connection.execute(statement.values(**first))
    else:
        connection.execute(statement, [dict(row) for row in rows])
