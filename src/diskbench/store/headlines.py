"""The figures that lists show, kept in the database so that a list reads no evidence."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import sqlalchemy as sa

from diskbench import __version__
from diskbench.model.headline import Headline, ListedStep
from diskbench.store import schema
from diskbench.store.database import transaction
from diskbench.store.query import conditions, newest_first, runs_by_id

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy.engine import Connection, Engine

    from diskbench.model.result import RunState
    from diskbench.model.run import Run
    from diskbench.store.query import Filter

_AT_ONCE = 500
_COLUMNS = ("step", "iops", "bytes_per_s", "kind", "trust")
_MEASURED = ("measure", "offered")
_RANDOM = "rand"


def keep_headlines(database: Engine, headlines: Mapping[str, Headline]) -> None:
    """Keep the headlines of runs, by run id, in place of those that were kept before."""
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


def load_headlines(database: Engine, run_ids: Collection[str]) -> dict[str, Headline]:
    """The headlines of runs that this version of diskbench judged, by run id."""
    headlines: dict[str, Headline] = {}
    wanted = sorted(run_ids)
    with transaction(database) as connection:
        for start in range(0, len(wanted), _AT_ONCE):
            condition = schema.headline.c.run_id.in_(wanted[start : start + _AT_ONCE])
            headlines |= _headlines(connection, condition)
    return headlines


def recent_trials(
    database: Engine, filters: Sequence[Filter] = (), *, limit: int | None = None
) -> tuple[list[tuple[Run, Counter[RunState], list[Headline]]], int]:
    """The trials with runs that meet `filters`, the last measured first and those without a date
    last: the newest of these runs, how many are in which state, and the headlines of those that
    were judged. And the number of all such trials, of which at most `limit` are returned.
    """
    run = schema.run
    query = sa.select(run.c.trial_id, run.c.run_id, run.c.state).where(*conditions(filters))
    trials: dict[str, tuple[str, Counter[RunState], list[str]]] = {}
    with transaction(database) as connection:
        for trial_id, run_id, state in connection.execute(query.order_by(*newest_first())):
            _, states, run_ids = trials.setdefault(trial_id, (run_id, Counter(), []))
            states[state] += 1
            run_ids.append(run_id)
        shown = list(trials.values())[:limit]
        runs = runs_by_id(connection, {newest for newest, *_ in shown})
        of_runs: dict[str, Headline] = {}
        wanted = list(trials)[:limit]
        for start in range(0, len(wanted), _AT_ONCE):
            of_trials = sa.select(run.c.run_id).where(
                run.c.trial_id.in_(wanted[start : start + _AT_ONCE])
            )
            of_runs |= _headlines(connection, schema.headline.c.run_id.in_(of_trials))
    found = [
        (runs[newest], states, [of_runs[run_id] for run_id in run_ids if run_id in of_runs])
        for newest, states, run_ids in shown
    ]
    return found, len(trials)


def step_loads(database: Engine, run_ids: Collection[str]) -> dict[str, list[ListedStep]]:
    """The measured steps of runs (at most a few hundred) from their rows: of several rounds the
    last one, all directions but syncs together."""
    row = schema.measurement
    query = (
        sa.select(
            row.c.run_id, row.c.step, row.c.round, row.c.rw, row.c.block_bytes, row.c.iops,
            row.c.bytes_per_s,
        )
        .where(
            row.c.run_id.in_(sorted(run_ids)),
            row.c.scope == "step",
            row.c.direction != "sync",
            row.c.role.in_(_MEASURED),
        )
        .order_by(row.c.run_id, row.c.step_index, row.c.position)
    )  # fmt: skip
    loads: dict[str, dict[str, tuple[int | None, ListedStep]]] = {}
    with transaction(database) as connection:
        for run_id, step, number, rw, block, iops, moved in connection.execute(query):
            of_run = loads.setdefault(run_id, {})
            is_random = (rw or "").startswith(_RANDOM)
            load = ListedStep(step, is_random, block, iops, moved)
            before = of_run.get(step)
            if before is not None and before[0] == number:
                load = _together(before[1], load)
            of_run[step] = number, load
    return {run_id: [load for _, load in of.values()] for run_id, of in loads.items()}


def _together(one: ListedStep, other: ListedStep) -> ListedStep:
    """Two directions of a step."""
    return ListedStep(
        one.step,
        one.is_random,
        one.block_bytes,
        _sum(one.iops, other.iops),
        _sum(one.bytes_per_s, other.bytes_per_s),
    )


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _headlines(connection: Connection, condition: sa.ColumnElement[bool]) -> dict[str, Headline]:
    headline = schema.headline
    query = sa.select(headline.c.run_id, *(headline.c[name] for name in _COLUMNS))
    query = query.where(condition, headline.c.judged_by == __version__)
    return {run_id: Headline(*row) for run_id, *row in connection.execute(query)}
