"""Finding runs and their rows: filters by any field, ids by prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import UnknownName
from diskbench.model.ids import LAST, SHORT, SHOWN, Known, beginning, last_number, meant
from diskbench.model.run import MEASURED_FIELDS, MeasuredRow, Run
from diskbench.store.reader import (
    NEWEST_FIRST,
    OLDEST_FIRST,
    RUN_COLUMNS,
    newest_rows,
    reader_of,
    run_of,
    runs_by_id,
)
from diskbench.store.where import (
    ROW_TABLE,
    RUN_TABLE,
    Filter,
    SqlCondition,
    any_of,
    both,
    filter_fields,
    only,
    parse_filter,
    where,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Engine

    from diskbench.store.reader import Reader

__all__ = [
    "Filter",
    "any_of",
    "count_runs",
    "filter_fields",
    "find_measurements",
    "find_run",
    "find_run_ids",
    "find_runs",
    "id_fits",
    "is_any",
    "newest_trials",
    "parse_filter",
    "place_words",
    "runs_by_id",
]
_LISTED = "'diskbench results list' shows what there is"
_FIRST_LOOK = 100
_LAST_LETTERS = "z" * 26
"""No id that begins with a text sorts behind it and these."""
_OF_ROW = ", ".join(
    f"{ROW_TABLE}.{'error' if name == 'job_error' else name}" for name in MEASURED_FIELDS
)


def find_runs(
    database: Engine | Reader,
    filters: Sequence[Filter] = (),
    *,
    limit: int | None = None,
    run_ids: Sequence[str] | None = None,
) -> list[Run]:
    """The runs that meet all `filters`, newest first, those without a date last; with
    `run_ids` only of these.

    A filter on a measurement's field is met by a run with at least one merged row that meets it.
    """
    reader = reader_of(database)
    rows = newest_rows(reader, RUN_COLUMNS, filters, run_ids=run_ids, limit=limit)
    return [run_of(row, reader.directory) for row in rows]


def find_run_ids(
    database: Engine | Reader,
    filters: Sequence[Filter] = (),
    *,
    run_ids: Sequence[str] | None = None,
    oldest_first: bool = False,
) -> list[str]:
    """The ids of the runs that `find_runs` finds, newest or oldest first, those without a date
    last."""
    reader = reader_of(database)
    met = only(where(filters, reader.dialect), run_ids)
    order = OLDEST_FIRST if oldest_first else NEWEST_FIRST
    query = f"SELECT {RUN_TABLE}.run_id FROM {RUN_TABLE} WHERE {met.text} ORDER BY {order}"  # noqa: S608
    return [run_id for (run_id,) in reader.rows(query, met.values)]


def count_runs(database: Engine | Reader, filters: Sequence[Filter] = ()) -> int:
    """How many runs meet all `filters`."""
    reader = reader_of(database)
    met = where(filters, reader.dialect)
    ((count,),) = reader.rows(
        f"SELECT count(*) FROM {RUN_TABLE} WHERE {met.text}",  # noqa: S608 - our own names
        met.values,
    )
    return int(count)


def is_any(database: Engine | Reader, filters: Sequence[Filter] = ()) -> bool:
    """Whether a run meets all `filters`."""
    reader = reader_of(database)
    met = where(filters, reader.dialect)
    query = f"SELECT 1 FROM {RUN_TABLE} WHERE {met.text} LIMIT 1"  # noqa: S608 - our own names
    return bool(reader.rows(query, met.values))


def find_run(database: Engine | Reader, run_id: str) -> Run:
    """One run by its full id, the beginning or short form of it (model/ids.py), `last` for the
    newest, which is one without a date only where no run has any, or `last~N` for the newest of the
    trial that N newer ones follow.

    Raises UnknownName when there is none, InvalidValue when several begin so, or nothing was typed.
    """
    reader, typed = reader_of(database), beginning(run_id, "run")
    if (number := last_number(typed)) is not None:
        return _last(reader, number)
    met = id_fits(f"{RUN_TABLE}.run_id", typed)
    # The shortest first: the id that was typed in full is among them.
    query = (
        f"SELECT {RUN_COLUMNS} FROM {RUN_TABLE} WHERE {met.text} "  # noqa: S608 - our own names
        f"ORDER BY length({RUN_TABLE}.run_id), {RUN_TABLE}.run_id LIMIT {SHOWN + 1}"
    )
    runs = [run_of(row, reader.directory) for row in reader.rows(query, met.values)]
    by_id = {run.run_id: run for run in runs}
    known = [
        Known(name, "run", where=place_words(run.profile, run.provider, run.place))
        for name, run in by_id.items()
    ]
    return by_id[meant(run_id, known, "run", advice=_LISTED).id]


def _last(reader: Reader, number: int) -> Run:
    """The newest run of the newest trial but `number`. Raises UnknownName."""
    trials = newest_trials(reader, (), number + 1)
    if len(trials) > number:
        trial_id = list(trials.values())[number]
        return runs_by_id(reader, [trial_id])[trial_id]
    if not trials:
        raise UnknownName("run", LAST, (), advice=_LISTED)
    raise UnknownName("run", f"{LAST}~{number}", (), advice=f"there are {len(trials)} trials")


def newest_trials(reader: Reader, filters: Sequence[Filter], limit: int | None) -> dict[str, str]:
    """The trials with runs that meet all `filters`, the last measured first and those without a
    date last, each with the newest of these runs: at most `limit`."""
    look = None if limit is None else limit + _FIRST_LOOK
    while True:
        trials: dict[str, str] = {}
        rows = newest_rows(reader, f"{RUN_TABLE}.trial_id, {RUN_TABLE}.run_id", filters, limit=look)
        for trial_id, run_id in rows:
            if limit is None or len(trials) < limit:
                trials.setdefault(trial_id, run_id)
        if look is None or limit is None or len(rows) < look or len(trials) == limit:
            return trials
        # As many as the trials so far suggest, and half as many again.
        look = max(2 * look, 3 * look * limit // (2 * len(trials)))


def id_fits(column: str, typed: str) -> SqlCondition:
    """The condition that an id begins with the typed text, or ends with it (model/ids.py)."""
    begins = SqlCondition(f"substr({column}, 1, {len(typed)}) = ?", (typed,))
    if typed.isascii() and typed.isalnum():
        # What an index finds; ids are of these characters, which sort alike in every collation.
        begins = SqlCondition(
            f"{column} >= ? AND {column} <= ?", (typed, f"{typed}{_LAST_LETTERS}")
        )
    if len(typed) < SHORT:
        return begins
    # Written as the indexes of the last characters are (result_tables.py).
    ends = _ends(column, typed[-SHORT:])
    if len(typed) > SHORT:
        ends = both(ends, _ends(column, typed))
    return SqlCondition(f"({begins.text}) OR ({ends.text})", (*begins.values, *ends.values))


def _ends(column: str, typed: str) -> SqlCondition:
    return SqlCondition(f"substr({column}, length({column}) - {len(typed) - 1}) = ?", (typed,))


def place_words(profile: str, provider: str, place: str | None) -> str:
    """What a run measured and where, for a person who has to distinguish runs."""
    return f"{profile} on {provider}" + (f" {place}" if place else "")


def find_measurements(
    database: Engine | Reader,
    filters: Sequence[Filter] = (),
    *,
    run_ids: Sequence[str] | None = None,
) -> list[MeasuredRow]:
    """Measurement rows of the runs that meet `filters`, each with its run.

    A filter on a measurement's field picks rows here, not whole runs. With `run_ids` (whole ones)
    only rows of these runs are picked.
    """
    reader = reader_of(database)
    met = only(where(filters, reader.dialect, on_rows=True), run_ids)
    query = (
        f"SELECT {RUN_TABLE}.run_id, {_OF_ROW} FROM {RUN_TABLE} "  # noqa: S608 - our own names
        f"JOIN {ROW_TABLE} ON {ROW_TABLE}.run_id = {RUN_TABLE}.run_id WHERE {met.text} "
        f"ORDER BY {OLDEST_FIRST}, {ROW_TABLE}.step_index, {ROW_TABLE}.position"
    )
    rows = reader.rows(query, met.values)
    runs = runs_by_id(reader, list({row[0] for row in rows}))
    return [MeasuredRow(runs[run_id], *row) for run_id, *row in rows]
