"""Finding runs and their rows: filters by any field, ids and short ids, names."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from diskbench.errors import UnknownName
from diskbench.model.ids import SHORT, Known, fits, last_number, line_number
from diskbench.model.run import MEASURED_FIELDS, RUN_FIELDS, MeasuredRow, Run
from diskbench.store import schema
from diskbench.store.database import one_statement
from diskbench.store.database_errors import through_breaks
from diskbench.store.evidence_place import directory_of_engine, whole_url
from diskbench.store.where import Filter, where
from diskbench.units import counted

AT_ONCE = 500
"""Databases take some thousand parameters in one statement, not any number."""
_FIRST_LOOK = 200
"""Runs are looked through for trials so many at first, and four times as many each time."""
_RUN, _ROW = schema.run.c, schema.measurement.c
RUN_COLUMNS = tuple(_RUN[name] for name in RUN_FIELDS)
"""What a Run is made of, in its order."""
_OF_ROW = tuple(_ROW["error" if name == "job_error" else name] for name in MEASURED_FIELDS)
Rows = Sequence[Any]


def newest_first() -> tuple[sa.ColumnElement[Any], ...]:
    """The order of runs by when they were measured; those without a date come last."""
    return _RUN.measured_at.desc().nulls_last(), _RUN.created_at.desc(), _RUN.run_id.desc()


def oldest_first() -> tuple[sa.ColumnElement[Any], ...]:
    """The other way round; those without a date come last here, too."""
    return _RUN.measured_at.asc().nulls_last(), _RUN.created_at.asc(), _RUN.run_id.asc()


def last_stored_first() -> tuple[sa.ColumnElement[Any], ...]:
    """The order of runs by when they were begun or imported here: what a person did last."""
    return _RUN.created_at.desc(), _RUN.measured_at.desc().nulls_last(), _RUN.run_id.desc()


def chunks(values: Sequence[str]) -> Iterator[Sequence[str]]:
    """Values as few at a time as one statement takes."""
    for start in range(0, len(values), AT_ONCE):
        yield values[start : start + AT_ONCE]


def rows_of(database: Engine, *queries: sa.Select[Any]) -> Rows:
    """The rows of queries, one after the other. Raises StoreUnavailable."""

    def read() -> Rows:
        with one_statement(database) as connection:
            return [row for query in queries for row in connection.execute(query).all()]

    return through_breaks(read)


def rows_among(
    database: Engine, query: sa.Select[Any], column: sa.ColumnElement[Any], values: Iterable[str]
) -> Rows:
    """The rows of `query` whose `column` is one of `values`, however many these are."""
    parts = chunks(sorted(values))
    return rows_of(database, *(query.where(column.in_(chunk)) for chunk in parts))


def run_of(row: Sequence[Any], directory: Path | None) -> Run:
    """The run whose RUN_COLUMNS these are, from the database in `directory`."""
    run = Run(*row)
    kept = run.evidence_url
    return run if kept is None else replace(run, evidence_url=whole_url(kept, directory))


def find_runs(
    database: Engine,
    filters: Sequence[Filter] = (),
    *,
    limit: int | None = None,
    run_ids: Sequence[str] | None = None,
) -> list[Run]:
    """The runs that meet all `filters`, newest first, those without a date last; with
    `run_ids` only of these.

    A filter on a measurement's field is met by a run with at least one merged row that meets it.
    """
    query = _chosen(RUN_COLUMNS, filters, run_ids).order_by(*newest_first()).limit(limit)
    directory = directory_of_engine(database)
    return [run_of(row, directory) for row in rows_of(database, query)]


def find_run_ids(
    database: Engine,
    filters: Sequence[Filter] = (),
    *,
    run_ids: Sequence[str] | None = None,
    oldest: bool = False,
) -> list[str]:
    """The ids of the runs that `find_runs` finds, newest or oldest first, those without a date
    last."""
    order = oldest_first() if oldest else newest_first()
    query = _chosen([_RUN.run_id], filters, run_ids).order_by(*order)
    return [run_id for (run_id,) in rows_of(database, query)]


def _chosen(
    columns: Iterable[sa.ColumnElement[Any]],
    filters: Sequence[Filter],
    run_ids: Sequence[str] | None = None,
    *,
    on_rows: bool = False,
) -> sa.Select[Any]:
    query = sa.select(*columns).where(where(filters, on_rows=on_rows))
    return query if run_ids is None else query.where(_RUN.run_id.in_(run_ids))


def count_runs(database: Engine) -> int:
    """How many runs there are."""
    ((count,),) = rows_of(database, sa.select(sa.func.count(_RUN.run_id)))
    return int(count)


def is_any(database: Engine, filters: Sequence[Filter] = ()) -> bool:
    """Whether a run meets all `filters`."""
    return bool(rows_of(database, _chosen([_RUN.run_id], filters).limit(1)))


def runs_by_id(database: Engine, run_ids: Sequence[str]) -> dict[str, Run]:
    """Runs by their whole ids."""
    directory = directory_of_engine(database)
    rows = rows_among(database, sa.select(*RUN_COLUMNS), _RUN.run_id, run_ids)
    return {row.run_id: run_of(row, directory) for row in rows}


def trial_counted(database: Engine, text: str) -> str | None:
    """The trial that is counted by the typed text: `last` for the one that was begun or imported
    last, `last~N` for the one that N later ones follow, and N for line N of `results list` without
    a selection. None for other text. Raises UnknownName."""
    typed, order = text.strip().lower(), last_stored_first()
    skipped = last_number(typed)
    if skipped is None and (number := line_number(typed)) is not None:
        skipped, order = number - 1, newest_first()
    if skipped is None:
        return None
    trials = [id_ for id_, _ in islice(trials_in_order(database, (), order), skipped + 1)]
    if len(trials) > skipped:
        return trials[skipped]
    stored = f"only {counted(len(trials), 'trial')} stored"
    advice = stored if trials else "no runs yet: measure with 'diskbench run'"
    raise UnknownName("trial", typed, (), advice=advice)


def trials_in_order(
    database: Engine, filters: Sequence[Filter] = (), order: Sequence[sa.ColumnElement[Any]] = ()
) -> Iterator[tuple[str, str]]:
    """The trials with runs that meet all `filters`, in that `order` (default: the last measured
    first and those without a date last), each with the first of these runs; read as far as they are
    asked for."""
    query = _chosen([_RUN.trial_id, _RUN.run_id], filters).order_by(*(order or newest_first()))
    known: set[str] = set()
    look = _FIRST_LOOK
    while True:
        # From the first each time: behind an offset a trial is missed where one before it is gone.
        rows = rows_of(database, query.limit(look))
        for trial_id, run_id in rows:
            if trial_id not in known:
                known.add(trial_id)
                yield trial_id, run_id
        if len(rows) < look:
            return
        look *= 4


def id_fits(column: sa.ColumnElement[str], typed: str) -> sa.ColumnElement[bool]:
    """The condition that an id begins with the typed text, or ends with it (model/ids.py)."""
    begins = sa.func.substr(column, 1, len(typed)) == typed
    if len(typed) < SHORT:
        return begins
    return sa.or_(begins, sa.func.substr(column, sa.func.length(column) - len(typed) + 1) == typed)


def place_words(profile: str, provider: str, place: str | None) -> str:
    """What a run measured and where, for a person who has to distinguish runs."""
    return f"{profile} on {provider}" + (f" {place}" if place else "")


def find_measurements(
    database: Engine, filters: Sequence[Filter] = (), *, run_ids: Sequence[str] | None = None
) -> list[MeasuredRow]:
    """Measurement rows of the runs that meet `filters`, each with its run.

    A filter on a measurement's field picks rows here, not whole runs. With `run_ids` (whole ones)
    only rows of these runs are picked.
    """
    query = (
        _chosen([_RUN.run_id, *_OF_ROW], filters, run_ids, on_rows=True)
        .join_from(schema.run, schema.measurement)
        .order_by(*oldest_first(), _ROW.step_index, _ROW.position)
    )
    rows = rows_of(database, query)
    runs = runs_by_id(database, list({row[0] for row in rows}))
    rents = rents_of(database, {run.trial_id for run in runs.values()})
    return [
        MeasuredRow(
            run=(run := runs[run_id]),
            rent=rents[run.trial_id],
            **dict(zip(MEASURED_FIELDS, values, strict=True)),
        )
        for run_id, *values in rows
    ]


def rents_of(database: Engine, trial_ids: Iterable[str]) -> dict[str, Mapping[str, Any] | None]:
    """What was to be rented for each trial, as typed."""
    trial = schema.trial.c
    query = sa.select(trial.trial_id, trial.rent)
    return dict(map(tuple, rows_among(database, query, trial.trial_id, trial_ids)))


def newest_matrix_named(database: Engine, name: str) -> str | None:
    """The id of the newest matrix of that name; None where no matrix has it."""
    matrix = schema.matrix.c
    newest = sa.select(sa.func.max(matrix.campaign_id)).where(matrix.name == name)
    ((campaign_id,),) = rows_of(database, newest.where(matrix.kind.is_(None)))
    return None if campaign_id is None else str(campaign_id)


def newest_matrices(database: Engine, limit: int) -> list[tuple[str, str]]:
    """The ids and names of the newest matrices, at most `limit`, the newest first."""
    matrix = schema.matrix.c
    query = sa.select(matrix.campaign_id, matrix.name).where(matrix.kind.is_(None))
    rows = rows_of(database, query.order_by(matrix.campaign_id.desc()).limit(limit))
    return [(campaign_id, name) for campaign_id, name in rows]


def known_labels(database: Engine) -> set[str]:
    """The label keys of all runs."""
    text = sa.cast(_RUN.labels, sa.Text)
    found = rows_of(database, sa.select(text).distinct())
    return {key for (labels,) in found for key in json.loads(labels)}


def ids_that_begin(database: Engine, text: str) -> list[Known]:
    """The runs, trials and campaigns whose ids begin with `text`, or end with it where it is
    as long as a short id, each with its parents. `text` is in lower case and not empty."""
    ids = (_RUN.campaign_id, _RUN.trial_id, _RUN.run_id)
    query = (
        sa.select(*ids, _RUN.profile, _RUN.provider, _RUN.address, _RUN.hostname)
        .where(sa.or_(*(id_fits(column, text) for column in ids)))
        .order_by(_RUN.run_id)
    )
    by_kind: dict[tuple[str, str], Known] = {}
    for campaign, trial, name, profile, provider, address, hostname in rows_of(database, query):
        place = place_words(profile, provider, address or hostname)
        for known in (
            Known(campaign, "matrix", where=place),
            Known(trial, "trial", where=place, part_of=(campaign,)),
            Known(name, "run", where=place, part_of=(campaign, trial)),
        ):
            by_kind.setdefault((known.kind, known.id), known)
    return [known for known in by_kind.values() if fits(known.id, text)]
