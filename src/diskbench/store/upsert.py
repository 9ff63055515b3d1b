"""Insert-or-update by primary key, the same on SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

    Insert = sqlite.Insert | postgresql.Insert

Rows = Sequence[Mapping[str, Any]]


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
