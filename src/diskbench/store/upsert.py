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
    """Insert the rows whose primary key is not there yet; leave the others as they are. One row
    alone may hold SQL expressions."""
    if rows:
        statement = _insert(connection, table).on_conflict_do_nothing(
            index_elements=list(table.primary_key.columns)
        )
        _write(connection, table, statement, rows)


def upsert(connection: Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert the rows; where the primary key is there already, take the new values.

    All rows have the same fields, which include the primary key. One row alone may hold SQL
    expressions.
    """
    if not rows:
        return
    key = {column.name for column in table.primary_key.columns}
    statement = _insert(connection, table)
    changed = {name: statement.excluded[name] for name in rows[0] if name not in key}
    statement = statement.on_conflict_do_update(
        index_elements=list(table.primary_key.columns), set_=changed
    )
    _write(connection, table, statement, rows)


def _write(
    connection: Connection,
    table: sa.Table,
    statement: sqlite.Insert | postgresql.Insert,
    rows: Sequence[Mapping[str, Any]],
) -> None:
    if len(rows) == 1:
        connection.execute(statement.values(**rows[0]))
        return
    if connection.dialect.name == "postgresql":
        # SQLAlchemy puts many rows into one statement only where something is returned; without, it
        # sends a statement a row.
        connection.execute(
            statement.returning(*table.primary_key.columns), [dict(row) for row in rows]
        ).close()
        return
    connection.execute(statement, [dict(row) for row in rows])


def _insert(connection: Connection, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)
