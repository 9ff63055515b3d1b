"""Runs with what they asked for, and what tells by their rows that a published page is up to date
without rendering it again."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from diskbench.model.run import RUN_FIELDS, AskedRun
from diskbench.store import schema
from diskbench.store.database import fetch, transaction
from diskbench.store.evidence_place import directory_of_engine
from diskbench.store.query import chunks, newest_first, run_of
from diskbench.store.where import Filter, where


def load_asked(database: Engine, filters: Sequence[Filter]) -> list[AskedRun]:
    """The runs that meet `filters`, newest first and undated runs last, each with its request."""
    run, trial = schema.run, schema.trial
    query = (
        sa.select(*(run.c[name] for name in RUN_FIELDS), trial.c.rent, trial.c.scope)
        .join(trial, trial.c.trial_id == run.c.trial_id)
        .where(where(filters))
        .order_by(*newest_first())
    )
    directory = directory_of_engine(database)
    return [
        AskedRun(run_of(row, directory), rent, scope)
        for *row, rent, scope in fetch(database, query)
    ]


def run_digests(database: Engine, run_ids: Sequence[str]) -> dict[str, str]:
    """A digest of each run's rows in every table, and of its trial's plan."""
    hashes = {run_id: sha256() for run_id in run_ids}
    with transaction(database) as connection:
        for chunk in chunks(run_ids):
            for table in (schema.run, schema.step, schema.measurement, schema.warning):
                for run_id, row in _rows(connection, table, chunk):
                    hashes[run_id].update(repr((table.name, *row)).encode())
            run, trial = schema.run, schema.trial
            plans = sa.select(run.c.run_id, sa.cast(trial.c.plan, sa.Text))
            plans = plans.join(trial, trial.c.trial_id == run.c.trial_id)
            for run_id, plan in connection.execute(plans.where(run.c.run_id.in_(chunk))):
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
