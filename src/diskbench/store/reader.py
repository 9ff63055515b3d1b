"""Reading rows by SQL text: through SQLAlchemy, or straight from a SQLite file.

Importing SQLAlchemy takes longer than listing ten thousand runs does, so a command that only reads
opens the file of a database itself, where that is a SQLite file with today's schema
(`open_reader`). The text of a query is the same on both ways.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diskbench.model.run import RUN_FIELDS, Run
from diskbench.store.revisions import HEAD, VERSION_TABLE
from diskbench.store.urls import database_file
from diskbench.store.where import OF_RUNS, RUN_TABLE, Dialect, SqlCondition, among

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine


_BUSY_S = 30.0
AT_ONCE = 500
"""Databases take some thousand parameters in one statement, not any number."""
FLAGS = frozenset(name for name, kind in OF_RUNS.items() if kind == "bool")
_DOCUMENTS = frozenset(name for name, kind in OF_RUNS.items() if kind.startswith("Mapping"))
_CONVERTED = tuple(
    (at, name in FLAGS) for at, name in enumerate(RUN_FIELDS) if name in FLAGS | _DOCUMENTS
)
RUN_COLUMNS = ", ".join(f"{RUN_TABLE}.{name}" for name in RUN_FIELDS)
NEWEST_FIRST = (
    f"{RUN_TABLE}.measured_at DESC NULLS LAST, {RUN_TABLE}.created_at DESC, {RUN_TABLE}.run_id DESC"
)
OLDEST_FIRST = (
    f"{RUN_TABLE}.measured_at ASC NULLS LAST, {RUN_TABLE}.created_at ASC, {RUN_TABLE}.run_id ASC"
)
"""The orders of runs by when they were measured; those without a date come last."""
_DATED_FIRST = NEWEST_FIRST.replace(" NULLS LAST", "")
Row = Sequence[Any]


@dataclass(frozen=True)
class Reader:
    """A database that is only read.

    `rows` returns the rows of a query with `?` for each of its values; JSON is text or what it
    means, and booleans may be 0 and 1. Raises StoreUnavailable.
    """

    dialect: Dialect
    rows: Callable[[str, Sequence[object]], list[Row]]
    close: Callable[[], None]


def open_reader(url: str) -> Reader | None:
    """A reader of a SQLite file; None where `url` is another database, the file is missing, or its
    schema is not today's: then `open_database` says so, or makes or migrates it."""
    file = database_file(url)
    if file is None or "?" in url:
        return None
    try:
        uri = f"{file.absolute().as_uri()}?mode=ro"
        connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_S)
        found = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchall()  # noqa: S608
        if found != [(HEAD,)]:
            connection.close()
            return None
    except (sqlite3.Error, OSError, ValueError):
        return None

    def rows(query: str, values: Sequence[object] = ()) -> list[Row]:
        try:
            return connection.execute(query, tuple(values)).fetchall()
        except sqlite3.Error as error:
            from diskbench.errors import StoreUnavailable
            from diskbench.store.urls import printable

            raise StoreUnavailable(
                f"database {printable(url)}: {error}",
                advice="check the file with 'diskbench doctor', or choose another with "
                "--database-url",
            ) from error

    return Reader("sqlite", rows, connection.close)


def reader_of(database: Engine | Reader) -> Reader:
    """A reader of a database that is open; each of its queries is a transaction of its own."""
    if isinstance(database, Reader):
        return database
    from diskbench.store.database import transaction

    dialect: Dialect = "sqlite" if database.dialect.name == "sqlite" else "postgresql"
    mark = "?" if dialect == "sqlite" else "%s"

    def rows(query: str, values: Sequence[object] = ()) -> list[Row]:
        with transaction(database) as connection:
            found = connection.exec_driver_sql(query.replace("?", mark), tuple(values))
            return [tuple(row) for row in found]

    return Reader(dialect, rows, lambda: None)


def run_of(row: Row) -> Run:
    """The run whose RUN_COLUMNS these are."""
    values = list(row)
    for at, is_flag in _CONVERTED:
        value = values[at]
        if is_flag:
            values[at] = bool(value)
        elif isinstance(value, str):
            values[at] = json.loads(value)
    return Run(*values)


def newest_rows(
    reader: Reader, columns: str, met: SqlCondition, *, limit: int | None = None
) -> Iterator[Row]:
    """The columns of runs that meet a condition, by when they were measured, the newest first and
    those without a date last.

    A limited number is read in two queries, because an index gives either part in this order, but
    in PostgreSQL not both together: its descending indexes have the rows without a date first.
    """
    start = f"SELECT {columns} FROM {RUN_TABLE} WHERE {met.text}"  # noqa: S608 - our own names
    if limit is None:
        yield from reader.rows(f"{start} ORDER BY {NEWEST_FIRST}", met.values)
        return
    dated = f"{start} AND {RUN_TABLE}.measured_at IS NOT NULL"
    found = reader.rows(f"{dated} ORDER BY {_DATED_FIRST} LIMIT ?", (*met.values, limit))
    yield from found
    if len(found) < limit:
        undated = f"{start} AND {RUN_TABLE}.measured_at IS NULL"
        yield from reader.rows(
            f"{undated} ORDER BY {_DATED_FIRST} LIMIT ?", (*met.values, limit - len(found))
        )


def runs_by_id(database: Engine | Reader, run_ids: Sequence[str]) -> dict[str, Run]:
    """Runs by their whole ids."""
    reader, runs = reader_of(database), dict[str, Run]()
    for chunk in chunks(sorted(run_ids)):
        met = among(f"{RUN_TABLE}.run_id", chunk)
        query = f"SELECT {RUN_COLUMNS} FROM {RUN_TABLE} WHERE {met.text}"  # noqa: S608 - our names
        runs |= {row[0]: run_of(row) for row in reader.rows(query, met.values)}
    return runs


def chunks(values: Sequence[str]) -> Iterator[Sequence[str]]:
    """Values as few at a time as one statement takes."""
    for start in range(0, len(values), AT_ONCE):
        yield values[start : start + AT_ONCE]
