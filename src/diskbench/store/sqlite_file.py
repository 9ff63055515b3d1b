"""A SQLite file that is only read, without SQLAlchemy: its import takes longer than many a read."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from diskbench.errors import StoreUnavailable
from diskbench.store.schema_revision import HEAD, VERSION_TABLE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

BUSY_S = 30.0


def open_sqlite(file: Path, *, busy_s: float = BUSY_S) -> sqlite3.Connection | None:
    """A connection that only reads; None for a file that is missing, is no database, or has another
    schema than today's: `open_database` says so, or makes or migrates it. A locked file is waited
    for `busy_s` seconds."""
    connection = None
    try:
        uri = f"{file.absolute().as_uri()}?mode=ro"
        connection = sqlite3.connect(uri, uri=True, timeout=busy_s)
        if connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchall() == [(HEAD,)]:  # noqa: S608
            return connection
    except (sqlite3.Error, OSError, ValueError):
        pass
    if connection is not None:
        connection.close()
    return None


def sqlite_rows(
    connection: sqlite3.Connection, where: str, query: str, values: Sequence[object] = ()
) -> list[Sequence[Any]]:
    """The rows of a query. Raises StoreUnavailable, which says `where` the database is."""
    try:
        return connection.execute(query, tuple(values)).fetchall()
    except sqlite3.Error as error:
        raise StoreUnavailable(
            f"database {where}: {error}",
            advice="check the file with 'diskbench doctor', or choose another with --database-url",
        ) from error
