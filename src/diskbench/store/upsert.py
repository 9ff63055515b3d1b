"""Insert-or-update by primary key, the same on SQLite and PostgreSQL.

A dialect costs tens of milliseconds to import, so only the one in use is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlalchemy as sa
    from sqlalchemy.dialects import postgresql, sqlite
    from sqlalchemy.engine import Connection


def insert_missing(
    connection: Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Insert the rows whose primary key is not there yet; leave the others as they are."""
    if rows:
        statement = _insert(connection, table).on_conflict_do_nothing(
            index_elements=list(table.primary_key.columns)
        )
        connection.execute(statement, [dict(row) for row in rows])


def upsert(connection: Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert the rows; where the primary key is there already, take the new values.

    All rows have the same fields, which include the primary key. One row alone may hold SQL
    expressions.
    """
    if not rows:
        return
    key = {column.name for column in table.primary_key.columns}
    statement = _insert(connection, table)
    # A column that changes with every write does so here, too.
    fields = (*rows[0], *(column.name for column in table.c if column.onupdate is not None))
    changed = {name: statement.excluded[name] for name in fields if name not in key}
    statement = statement.on_conflict_do_update(
        index_elements=list(table.primary_key.columns), set_=changed
    )
    if len(rows) == 1:
        connection.execute(statement.values(**rows[0]))
    else:
        connection.execute(statement, [dict(row) for row in rows])


def _insert(connection: Connection, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)
