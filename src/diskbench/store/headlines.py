"""The figures that lists show, kept in the database so that a list reads no evidence."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from diskbench import __version__
from diskbench.model.run import Headline, ListedStep
from diskbench.store.query import newest_trials
from diskbench.store.reader import NEWEST_FIRST, chunks, reader_of, runs_by_id
from diskbench.store.where import ROW_TABLE, RUN_TABLE, among, both, ways, where

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.result import RunState
    from diskbench.model.run import Run
    from diskbench.store.reader import Reader
    from diskbench.store.where import Filter

_HEADLINE = "diskbench_headline"
_COLUMNS = ("step", "iops", "bytes_per_s", "kind", "trust")
_OF_HEADLINE = ", ".join(f"{_HEADLINE}.{name}" for name in _COLUMNS)
_MEASURED = ("measure", "offered")
_RANDOM = "rand"


def keep_headlines(database: Engine, headlines: Mapping[str, Headline]) -> None:
    """Keep the headlines of runs, by run id, in place of those that were kept before."""
    from diskbench.store import schema
    from diskbench.store.database import transaction
    from diskbench.store.upsert import upsert

    known = load_headlines(database, headlines)
    rows = [
        {"run_id": run_id, "judged_by": __version__}
        | {name: getattr(headline, name) for name in _COLUMNS}
        for run_id, headline in headlines.items()
        if known.get(run_id) != headline
    ]
    if rows:
        with transaction(database) as connection:
            upsert(connection, schema.headline, rows)


def load_headlines(database: Engine | Reader, run_ids: Collection[str]) -> dict[str, Headline]:
    """The headlines of runs that this version of diskbench judged, by run id."""
    reader, headlines = reader_of(database), dict[str, Headline]()
    for chunk in chunks(sorted(run_ids)):
        of_runs = among("run_id", chunk)
        query = (
            f"SELECT run_id, {_OF_HEADLINE} FROM {_HEADLINE} "  # noqa: S608 - our own names
            f"WHERE judged_by = ? AND {of_runs.text}"
        )
        for run_id, *headline in reader.rows(query, (__version__, *of_runs.values)):
            headlines[run_id] = Headline(*headline)
    return headlines


def recent_trials(
    database: Engine | Reader, filters: Sequence[Filter] = (), *, limit: int | None = None
) -> tuple[list[tuple[Run, Counter[RunState], list[Headline]]], int]:
    """The trials with runs that meet `filters`, the last measured first and those without a date
    last: the newest of these runs, how many are in which state, and the headlines of those that
    were judged. And the number of all such trials, of which at most `limit` are returned.
    """
    reader = reader_of(database)
    met = where(filters, reader.dialect)
    newest = newest_trials(reader, filters, limit)
    runs = runs_by_id(reader, list(newest.values()))
    states: dict[str, Counter[RunState]] = defaultdict(Counter)
    known: dict[str, list[Headline]] = defaultdict(list)
    for chunk in chunks(list(newest)):
        of_trials = both(met, among(f"{RUN_TABLE}.trial_id", chunk))
        query = (
            f"SELECT {RUN_TABLE}.trial_id, {RUN_TABLE}.state, {_HEADLINE}.judged_by, "  # noqa: S608
            f"{_OF_HEADLINE} FROM {RUN_TABLE} LEFT JOIN {_HEADLINE} ON {_HEADLINE}.run_id = "
            f"{RUN_TABLE}.run_id WHERE {of_trials.text} ORDER BY {NEWEST_FIRST}"
        )
        for trial_id, state, judged_by, *headline in reader.rows(query, of_trials.values):
            states[trial_id][state] += 1
            if judged_by == __version__:
                known[trial_id].append(Headline(*headline))
    headlines = [
        (runs[run_id], states[trial_id], known[trial_id]) for trial_id, run_id in newest.items()
    ]
    is_all = limit is None or len(headlines) < limit
    return headlines, len(headlines) if is_all else _count_trials(reader, filters)


def _count_trials(reader: Reader, filters: Sequence[Filter]) -> int:
    if not filters:  # each has a run: of all it is much faster
        ((total,),) = reader.rows("SELECT count(*) FROM diskbench_trial", ())
        return int(total)
    apart = ways(filters, reader.dialect)
    # Apart, because an index of a column, the time and the trial has all that one part needs.
    parts = (
        f"SELECT DISTINCT {RUN_TABLE}.trial_id FROM {RUN_TABLE} WHERE {met.text}"  # noqa: S608
        for met in apart
    )
    query = f"SELECT count(*) FROM ({' UNION '.join(parts)}) AS trials"  # noqa: S608
    ((total,),) = reader.rows(query, [value for met in apart for value in met.values])
    return int(total)


def step_loads(database: Engine | Reader, run_ids: Collection[str]) -> dict[str, list[ListedStep]]:
    """The measured steps of runs from their rows: of several rounds the last one, all directions
    but syncs together."""
    reader = reader_of(database)
    loads: dict[str, dict[str, tuple[int | None, ListedStep]]] = {}
    for chunk in chunks(sorted(run_ids)):
        of_runs = both(among("run_id", chunk), among("role", _MEASURED))
        query = (
            "SELECT run_id, step, round, rw, block_bytes, iops, bytes_per_s "  # noqa: S608
            f"FROM {ROW_TABLE} WHERE scope = 'step' AND direction != 'sync' AND {of_runs.text} "
            "ORDER BY run_id, step_index, position"
        )
        for run_id, step, number, rw, block, iops, moved in reader.rows(query, of_runs.values):
            of_run = loads.setdefault(run_id, {})
            is_random = (rw or "").startswith(_RANDOM)
            load = ListedStep(step, is_random, block, iops, moved)
            before = of_run.get(step)
            if before is not None and before[0] == number:
                load = _together(before[1], load)
            of_run[step] = number, load
    return {run_id: [load for _, load in of.values()] for run_id, of in loads.items()}


def _together(first: ListedStep, second: ListedStep) -> ListedStep:
    """Two directions of a step."""
    return ListedStep(
        first.step,
        first.is_random,
        first.block_bytes,
        _sum(first.iops, second.iops),
        _sum(first.bytes_per_s, second.bytes_per_s),
    )


def _sum(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second
