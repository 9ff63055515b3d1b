"""Insert-or-update by primary key, the same on SQLite and PostgreSQL.

A dialect costs tens of milliseconds to import, so only the one in use is. A statement is made once
for a table and the fields of its rows, because making it takes longer than sending it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

_Insert = sqlite.Insert | postgresql.Insert


def insert_missing(
    connection: Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Insert the rows whose primary key is not there yet; leave the others as they are. One row
    alone may hold SQL expressions."""
    if rows:
        _write(connection, table, _missing(connection.dialect.name, table), rows)


def upsert(connection: Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert the rows; where the primary key is there already, take the new values.

    All rows have the same fields, which include the primary key. One row alone may hold SQL
    expressions.
    """
    if rows:
        statement = _changed(connection.dialect.name, table, tuple(rows[0]))
        _write(connection, table, statement, rows)


def _write(
    connection: Connection, table: sa.Table, statement: _Insert, rows: Sequence[Mapping[str, Any]]
) -> None:
    if len(rows) == 1:
        row = dict(rows[0])
        if any(isinstance(value, sa.ClauseElement) for value in row.values()):
            connection.execute(statement.values(**row))
        else:
            connection.execute(statement, row)
    elif connection.dialect.name == "postgresql":
        # SQLAlchemy puts many rows into one statement only where something is returned; without, it
        # sends a statement a row.
        keys = table.primary_key.columns
        connection.execute(statement.returning(*keys), [dict(row) for row in rows]).close()
    else:
        connection.execute(statement, [dict(row) for row in rows])


@cache
def _missing(dialect: str, table: sa.Table) -> _Insert:
    keys = list(table.primary_key.columns)
    return _insert(dialect, table).on_conflict_do_nothing(index_elements=keys)


@cache
def _changed(dialect: str, table: sa.Table, names: tuple[str, ...]) -> _Insert:
    keys = list(table.primary_key.columns)
    statement = _insert(dialect, table)
    of_key = {column.name for column in keys}
    # A column that changes with every write does so here, too.
    fields = (*names, *(column.name for column in table.c if column.onupdate is not None))
    changed = {name: statement.excluded[name] for name in fields if name not in of_key}
    return statement.on_conflict_do_update(index_elements=keys, set_=changed)


def _insert(dialect: str, table: sa.Table) -> _Insert:
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)
