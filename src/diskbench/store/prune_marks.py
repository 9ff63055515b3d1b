"""The runs in which `results prune` has nothing more to remove, kept in the database: to find that
out again takes a listing of the evidence of each."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench import __version__
from diskbench.errors import StoreUnavailable
from diskbench.store import schema
from diskbench.store.database import transaction
from diskbench.store.evidence_place import directory_of_engine, kept_url
from diskbench.store.reader import RUN_COLUMNS, reader_of, run_of
from diskbench.store.upsert import upsert
from diskbench.store.where import RUN_TABLE, where

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.run import Run
    from diskbench.store.where import Filter

_MARKS = schema.pruned.name


@dataclass(frozen=True)
class PruneMark:
    """A run in whose evidence at `evidence_url` is nothing to remove. `logs` are left there because
    they take less than what would be kept in their place."""

    run_id: str
    evidence_url: str
    logs: int = 0


def unpruned_runs(
    database: Engine, filters: Sequence[Filter], *, elsewhere: str | None = None
) -> list[tuple[Run, int | None]]:
    """The runs that meet `filters`, those of a trial together, each with the logs that its mark
    says are left there: None without a mark. Runs whose mark says that nothing is left are left
    out. `elsewhere` is the printable URL of the store to look into instead of each run's own.

    A mark of logs that are left counts for the version that made it alone.
    """
    reader = reader_of(database)
    met = where(filters, reader.dialect)
    place, values = f"{RUN_TABLE}.evidence_url", list[object]()
    if elsewhere is not None:
        place, values = "?", [kept_url(elsewhere, reader.directory)]
    query = (
        f"SELECT {_MARKS}.logs, {RUN_COLUMNS} FROM {RUN_TABLE} LEFT JOIN {_MARKS} "  # noqa: S608
        f"ON {_MARKS}.run_id = {RUN_TABLE}.run_id AND {_MARKS}.evidence_url = {place} "
        f"AND ({_MARKS}.logs = 0 OR {_MARKS}.seen_by = ?) "
        f"WHERE ({met.text}) AND ({_MARKS}.run_id IS NULL OR {_MARKS}.logs > 0) "
        f"ORDER BY {RUN_TABLE}.trial_id, {RUN_TABLE}.run_index"
    )
    rows = reader.rows(query, [*values, __version__, *met.values])
    return [(run_of(run, reader.directory), logs) for logs, *run in rows]


def keep_marks(database: Engine, marks: Sequence[PruneMark]) -> None:
    """Keep marks, in place of earlier ones. A database that cannot be written to is left as it is:
    the next `prune` looks at these runs again."""
    directory = directory_of_engine(database)
    rows = [
        {
            "run_id": mark.run_id, "evidence_url": kept_url(mark.evidence_url, directory),
            "logs": mark.logs, "seen_by": __version__,
        }
        for mark in marks
    ]  # fmt: skip
    if rows:
        with suppress(StoreUnavailable), transaction(database) as connection:
            upsert(connection, schema.pruned, rows)
