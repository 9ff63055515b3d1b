"""Reading rows by SQL text: through SQLAlchemy, or straight from a SQLite file.

Importing SQLAlchemy takes longer than listing ten thousand runs does, so a command that only reads
opens the file of a database itself, where that is a SQLite file with today's schema
(`open_reader`). The text of a query is the same on both ways.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diskbench.model.run import RUN_FIELDS, Run
from diskbench.store.evidence_place import directory_of, directory_of_engine, whole_url
from diskbench.store.sqlite_file import open_sqlite, sqlite_rows
from diskbench.store.urls import database_file, printable
from diskbench.store.where import (
    OF_RUNS,
    RUN_TABLE,
    Dialect,
    Filter,
    SqlCondition,
    among,
    only,
    ways,
    where,
)

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy.engine import Engine


AT_ONCE = 500
"""Databases take some thousand parameters in one statement, not any number."""
FLAGS = frozenset(name for name, kind in OF_RUNS.items() if kind == "bool")
_EVIDENCE_AT = RUN_FIELDS.index("evidence_url")
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
_BY_TIME = _DATED_FIRST.replace(" DESC", "")
_TIMES = _BY_TIME.count(",") + 1
Row = Sequence[Any]


@dataclass(frozen=True)
class Reader:
    """A database that is only read.

    `rows` returns the rows of a query with `?` for each of its values; JSON is text or what it
    means, and booleans may be 0 and 1. Raises StoreUnavailable. `directory` is that of a SQLite
    file.
    """

    dialect: Dialect
    rows: Callable[[str, Sequence[object]], list[Row]]
    close: Callable[[], None]
    directory: Path | None = None


def open_reader(url: str) -> Reader | None:
    """A reader of a SQLite file; None where `url` is another database, the file is missing, or its
    schema is not today's: then `open_database` says so, or makes or migrates it."""
    file = database_file(url)
    if file is None or "?" in url:
        return None
    connection = open_sqlite(file)
    if connection is None:
        return None

    def rows(query: str, values: Sequence[object] = ()) -> list[Row]:
        return sqlite_rows(connection, printable(url), query, values)

    return Reader("sqlite", rows, connection.close, directory_of(url))


def reader_of(database: Engine | Reader) -> Reader:
    """A reader of a database that is open; each of its queries is a transaction of its own."""
    if isinstance(database, Reader):
        return database
    from diskbench.store.database import transaction
    from diskbench.store.database_errors import through_breaks

    dialect: Dialect = "sqlite" if database.dialect.name == "sqlite" else "postgresql"
    mark = "?" if dialect == "sqlite" else "%s"

    def rows(query: str, values: Sequence[object] = ()) -> list[Row]:
        def read() -> list[Row]:
            with transaction(database) as connection:
                answer = connection.exec_driver_sql(query.replace("?", mark), tuple(values))
                # Tuples of the driver: a Row of SQLAlchemy each is a fifth of an export's time.
                return list(answer.cursor.fetchall())

        return through_breaks(read)

    return Reader(dialect, rows, lambda: None, directory_of_engine(database))


def run_of(row: Row, directory: Path | None) -> Run:
    """The run whose RUN_COLUMNS these are, from the database in `directory`."""
    values = list(row)
    for at, is_flag in _CONVERTED:
        value = values[at]
        if is_flag:
            values[at] = bool(value)
        elif isinstance(value, str):
            values[at] = json.loads(value)
    if values[_EVIDENCE_AT] is not None:
        values[_EVIDENCE_AT] = whole_url(values[_EVIDENCE_AT], directory)
    return Run(*values)


def newest_rows(
    reader: Reader,
    columns: str,
    filters: Sequence[Filter],
    *,
    run_ids: Sequence[str] | None = None,
    limit: int | None = None,
) -> list[Row]:
    """The columns of runs that meet all `filters`, by when they were measured, the newest first and
    those without a date last; with `run_ids` only of these.

    A limited number is read in two queries, because an index gives either part in this order, but
    in PostgreSQL not both together: its descending indexes have the rows without a date first.
    """
    if limit is None:
        met = only(where(filters, reader.dialect), run_ids)
        start = f"SELECT {columns} FROM {RUN_TABLE} WHERE {met.text}"  # noqa: S608 - our own names
        return reader.rows(f"{start} ORDER BY {NEWEST_FIRST}", met.values)
    apart = [only(way, run_ids) for way in ways(filters, reader.dialect)]
    rows = _first_rows(reader, columns, apart, "measured_at IS NOT NULL", limit)
    if len(rows) < limit:
        missing = limit - len(rows)
        rows += _first_rows(reader, columns, apart, "measured_at IS NULL", missing)
    return rows


def _first_rows(
    reader: Reader, columns: str, apart: Sequence[SqlCondition], dated: str, limit: int
) -> list[Row]:
    """The newest rows of each of some conditions that exclude each other, of which an index gives
    those of one in order; and of these the newest."""
    parts = [
        f"SELECT {_BY_TIME}, {columns} FROM {RUN_TABLE} "  # noqa: S608 - our own names
        f"WHERE {met.text} AND {RUN_TABLE}.{dated} ORDER BY {_DATED_FIRST} LIMIT ?"
        for met in apart
    ]
    values = [value for met in apart for value in (*met.values, limit)]
    if len(parts) == 1:
        query = parts[0]
    else:
        selects = (f"SELECT * FROM ({part}) AS part_{at}" for at, part in enumerate(parts))  # noqa: S608
        query = f"{' UNION ALL '.join(selects)} ORDER BY 1 DESC, 2 DESC, 3 DESC LIMIT ?"
        values.append(limit)
    return [row[_TIMES:] for row in reader.rows(query, values)]


def runs_by_id(database: Engine | Reader, run_ids: Sequence[str]) -> dict[str, Run]:
    """Runs by their whole ids."""
    reader, runs = reader_of(database), dict[str, Run]()
    for chunk in chunks(sorted(run_ids)):
        met = among(f"{RUN_TABLE}.run_id", chunk)
        query = f"SELECT {RUN_COLUMNS} FROM {RUN_TABLE} WHERE {met.text}"  # noqa: S608 - our names
        runs |= {row[0]: run_of(row, reader.directory) for row in reader.rows(query, met.values)}
    return runs


def chunks(values: Sequence[str]) -> Iterator[Sequence[str]]:
    """Values as few at a time as one statement takes."""
    for start in range(0, len(values), AT_ONCE):
        yield values[start : start + AT_ONCE]
