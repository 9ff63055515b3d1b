"""Runs with what they asked for, and what tells by their rows that a published page is up to date
without rendering it again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, get_args

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from diskbench.model.result import FINAL_STATES, RunState
from diskbench.model.run import RUN_FIELDS, AskedRun, Run
from diskbench.store import schema
from diskbench.store.database import transaction
from diskbench.store.query import chunks, newest_first
from diskbench.store.where import Filter, where

_AT_ONCE = 500
_STAMPS_AT_ONCE = 5000
_UNFINISHED = tuple(sorted(set(get_args(RunState)) - set(FINAL_STATES)))
_OF_RUN = (schema.run, schema.step, schema.measurement, schema.warning)


def load_asked(
    database: Engine, filters: Sequence[Filter], *, trial_ids: Sequence[str] | None = None
) -> list[AskedRun]:
    """The runs that meet `filters`, newest first and undated runs last, each with its request; with
    `trial_ids` only those of these trials."""
    run, trial = schema.run, schema.trial
    query = (
        sa.select(
            *(run.c[name] for name in RUN_FIELDS),
            trial.c.rent,
            trial.c.scope,
        )
        .join(trial, trial.c.trial_id == run.c.trial_id)
        .where(where(filters))
        .order_by(*newest_first())
    )
    queries = [query]
    if trial_ids is not None:
        queries = [query.where(run.c.trial_id.in_(chunk)) for chunk in chunks(trial_ids)]
    with transaction(database) as connection:
        rows = [row for query in queries for row in connection.execute(query)]
    asked = [AskedRun(Run(*row), rent, scope) for *row, rent, scope in rows]
    return asked if len(queries) < 2 else sorted(asked, key=_time, reverse=True)


def _time(row: AskedRun) -> tuple[str, str, str]:
    return row.run.measured_at or "", row.run.created_at, row.run.run_id


def trial_stamps(database: Engine, filters: Sequence[Filter]) -> Iterator[tuple[str, str]]:
    """Each trial with runs that meet `filters`, and a text: another one after any write to the rows
    of these runs, or where others meet them. They are read in parts, because a store of a million
    runs has some hundred thousand trials.

    It is made of how many they are and of the sum of their stamps, which an index holds; of a run
    that has not ended also of a digest of its rows, because a step that ends changes those alone.
    """
    run, met = schema.run.c, where(filters)
    summed = sa.select(run.trial_id, sa.func.count(), sa.func.sum(run.stamp))
    going = sa.select(run.trial_id, run.run_id).where(met, run.state.in_(_UNFINISHED))
    with transaction(database) as connection:
        unfinished = connection.execute(going.order_by(run.run_id)).all()
    digests = run_digests(database, [run_id for _, run_id in unfinished])
    of_unfinished: dict[str, str] = {}
    for trial_id, run_id in unfinished:
        of_unfinished[trial_id] = f"{of_unfinished.get(trial_id, '')}:{digests[run_id]}"
    with transaction(database) as connection:
        in_parts = connection.execution_options(yield_per=_STAMPS_AT_ONCE)
        rows = in_parts.execute(summed.where(met).group_by(run.trial_id))
        for trial_id, runs, stamp in rows:
            yield trial_id, f"{runs}:{stamp}{of_unfinished.get(trial_id, '')}"


def run_digests(database: Engine, run_ids: Sequence[str]) -> dict[str, str]:
    """A digest of each run's rows in every table, and of its trial's plan."""
    hashes = {run_id: sha256() for run_id in run_ids}
    with transaction(database) as connection:
        for start in range(0, len(run_ids), _AT_ONCE):
            chunk = run_ids[start : start + _AT_ONCE]
            for table in _OF_RUN:
                for run_id, row in _rows(connection, table, chunk):
                    hashes[run_id].update(repr((table.name, *row)).encode())
            for run_id, plan in _plans(connection, chunk):
                hashes[run_id].update((plan or "").encode())
    return {run_id: digest.hexdigest() for run_id, digest in hashes.items()}


def _rows(
    connection: Connection, table: sa.Table, run_ids: Sequence[str]
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Rows as stored: JSON stays text, because parsing it would take most of the time."""
    columns = [
        sa.cast(column, sa.Text) if isinstance(column.type, sa.JSON) else column
        for column in table.c
    ]
    query = sa.select(table.c.run_id, *columns).where(table.c.run_id.in_(run_ids))
    for run_id, *row in connection.execute(query.order_by(*table.primary_key.columns)):
        yield run_id, tuple(row)


def _plans(connection: Connection, run_ids: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    run, trial = schema.run, schema.trial
    plan = sa.cast(trial.c.plan, sa.Text).label("plan")
    query = sa.select(run.c.run_id, plan).join(trial, trial.c.trial_id == run.c.trial_id)
    for row in connection.execute(query.where(run.c.run_id.in_(run_ids))):
        yield row.run_id, row.plan
