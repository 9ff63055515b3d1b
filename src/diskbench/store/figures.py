"""Figures of many runs without the other columns of their rows: those that lists show, which are
kept in the database so that a list reads no evidence, and those that are compared."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from diskbench.extras import version
from diskbench.model.comparison import Metric
from diskbench.model.result import RunState
from diskbench.model.run import Headline, ListedTrial, MeasuredRow
from diskbench.store import schema
from diskbench.store.database import transaction
from diskbench.store.dialects import upsert
from diskbench.store.query import (
    newest_first,
    oldest_first,
    rents_of,
    rows_among,
    rows_of,
    runs_by_id,
    trials_in_order,
)
from diskbench.store.where import Filter, where

_RUN, _ROW, _HEADLINE = schema.run.c, schema.measurement.c, schema.headline.c
_COLUMNS = ("step", "iops", "bytes_per_s", "kind", "trust")
_OF_HEADLINE = tuple(_HEADLINE[name] for name in _COLUMNS)
_OF_FIGURE = (
    *("step_index", "step", "role", "direction", "round", "rw", "block_bytes", "iodepth"),
    *("ios", "bytes", "runtime_ns", "iops", "bytes_per_s"),
)
_MEASURED = ("measure", "offered")


def keep_headlines(database: Engine, headlines: Mapping[str, Headline]) -> None:
    """Keep the headlines of runs, by run id, in place of those that were kept before."""
    known = load_headlines(database, headlines)
    rows = [
        {"run_id": run_id, "judged_by": version()}
        | {name: getattr(headline, name) for name in _COLUMNS}
        for run_id, headline in headlines.items()
        if known.get(run_id) != headline
    ]
    if rows:
        with transaction(database) as connection:
            upsert(connection, schema.headline, rows)


def load_headlines(database: Engine, run_ids: Collection[str]) -> dict[str, Headline]:
    """The headlines of runs that this version of diskbench judged, by run id."""
    query = sa.select(_HEADLINE.run_id, *_OF_HEADLINE).where(_HEADLINE.judged_by == version())
    rows = rows_among(database, query, _HEADLINE.run_id, run_ids)
    return {run_id: Headline(*row) for run_id, *row in rows}


def recent_trials(
    database: Engine, filters: Sequence[Filter] = (), *, limit: int | None = None
) -> tuple[list[tuple[ListedTrial, list[Headline]]], int]:
    """The trials with runs that meet `filters`, the last measured first and those without a date
    last, not judged yet, each with the headlines of those of its runs that were. And the number of
    all such trials, of which at most `limit` are returned."""
    newest, met = dict(islice(trials_in_order(database, filters), limit)), where(filters)
    runs = runs_by_id(database, list(newest.values()))
    states: dict[str, dict[RunState, int]] = defaultdict(dict)
    known: dict[str, list[Headline]] = defaultdict(list)
    query = sa.select(_RUN.trial_id, _RUN.state, sa.func.count()).where(met)
    query = query.group_by(_RUN.trial_id, _RUN.state)
    for trial_id, state, count in rows_among(database, query, _RUN.trial_id, newest):
        states[trial_id][state] = count
    query = (
        sa.select(_RUN.trial_id, *_OF_HEADLINE)
        .join_from(schema.run, schema.headline)
        .where(met, _HEADLINE.judged_by == version())
        .order_by(*newest_first())
    )
    for trial_id, *headline in rows_among(database, query, _RUN.trial_id, newest):
        known[trial_id].append(Headline(*headline))
    every = (id_ for id_, _ in trials_in_order(database)) if filters else newest
    places = ((id_, number) for number, id_ in enumerate(every, 1) if id_ in newest)
    numbers = dict(islice(places, len(newest)))
    trials = [
        (ListedTrial(numbers[trial_id], runs[run_id], states[trial_id]), known[trial_id])
        for trial_id, run_id in newest.items()
    ]
    if limit is None or len(trials) < limit:
        return trials, len(trials)
    ((total,),) = rows_of(database, sa.select(sa.func.count(_RUN.trial_id.distinct())).where(met))
    return trials, int(total)


def step_loads(database: Engine, run_ids: Collection[str]) -> dict[str, list[Headline]]:
    """The measured steps of runs from their rows: of several rounds the last one, all directions
    but syncs together."""
    loads: dict[str, dict[str, tuple[int | None, Headline]]] = {}
    query = (
        sa.select(
            _ROW.run_id, _ROW.step, _ROW.round, _ROW.rw, _ROW.block_bytes, _ROW.iops,
            _ROW.bytes_per_s,
        )
        .where(_ROW.scope == "step", _ROW.direction != "sync", _ROW.role.in_(_MEASURED))
        .order_by(_ROW.run_id, _ROW.step_index, _ROW.position)
    )  # fmt: skip
    rows = rows_among(database, query, _ROW.run_id, run_ids)
    for run_id, step, number, rw, block, iops, moved in rows:
        of_run = loads.setdefault(run_id, {})
        load = Headline(
            step, iops, moved, is_random=(rw or "").startswith("rand"), block_bytes=block
        )
        if step in of_run and of_run[step][0] == number:  # another direction
            other = of_run[step][1]
            sums = _sum(other.iops, iops), _sum(other.bytes_per_s, moved)
            load = replace(other, iops=sums[0], bytes_per_s=sums[1])
        of_run[step] = number, load
    return {run_id: [load for _, load in of.values()] for run_id, of in loads.items()}


def _sum(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second


def load_figures(
    database: Engine,
    filters: Sequence[Filter],
    metrics: Sequence[Metric],
    *,
    trial_ids: Sequence[str] | None = None,
) -> dict[Metric, list[MeasuredRow]]:
    """By metric, one row per step, round and direction of each finished run that meets `filters`,
    in order; with `trial_ids` (some hundreds) only of these trials. The runs are read once, and the
    rows of all metrics in one statement.

    `rent` is None for a machine that was not rented or is unknown. Fills, canaries, steps without
    I/O and steps without the figure are left out.
    """
    names = list(dict.fromkeys([*_OF_FIGURE, *metrics]))
    query = (
        sa.select(_RUN.run_id, *(_ROW[name] for name in names))
        .join_from(schema.run, schema.measurement)
        .where(
            where(filters),
            _RUN.state == "done",
            _ROW.scope == "step",
            _ROW.role.in_(_MEASURED),
            sa.or_(_ROW.ios.is_(None), _ROW.ios > 0),
            sa.or_(*(_ROW[name] > 0 for name in metrics)),
        )
        .order_by(*oldest_first(), _ROW.step_index, _ROW.position)
    )
    if trial_ids is not None:
        query = query.where(_RUN.trial_id.in_(trial_ids))
    rows = rows_of(database, query)
    runs = runs_by_id(database, list(dict.fromkeys(row[0] for row in rows)))
    rents = rents_of(database, list(dict.fromkeys(run.trial_id for run in runs.values())))
    figures: dict[Metric, list[MeasuredRow]] = {name: [] for name in metrics}
    for run_id, *values in rows:
        run = runs[run_id]
        columns = dict(zip(names, values, strict=True))
        row = MeasuredRow(run=run, rent=rents[run.trial_id], **columns)
        for name, of_metric in figures.items():
            if (columns[name] or 0) > 0:
                of_metric.append(row)
    return figures


def finished_trials(database: Engine, filters: Sequence[Filter]) -> list[tuple[str, str]]:
    """The trials with finished runs that meet `filters`, oldest first and those without a date
    last, each with one of these runs."""
    first, began = sa.func.min(_RUN.run_id), sa.func.min(_RUN.measured_at)
    query = sa.select(_RUN.trial_id, first).where(where(filters), _RUN.state == "done")
    query = query.group_by(_RUN.trial_id).order_by(began.asc().nulls_last(), first)
    return [(trial_id, run_id) for trial_id, run_id in rows_of(database, query)]


def count_trials(database: Engine, campaign_id: str) -> int:
    """How many trials of a campaign have a finished run."""
    query = sa.select(sa.func.count(_RUN.trial_id.distinct())).where(
        _RUN.campaign_id == campaign_id, _RUN.state == "done"
    )
    ((count,),) = rows_of(database, query)
    return int(count)
