"""The predictions of plans for each run and step, as a polars frame."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from diskbench.model.spec import Plan
from diskbench.store import schema
from diskbench.store.database import transaction
from diskbench.store.frames import with_runs

if TYPE_CHECKING:
    import polars as pl


def expected_frame(database: Engine, *, run_ids: Sequence[str] | None = None) -> pl.DataFrame:
    """One row per run and step with a prediction; docs/api.md lists the columns.

    Predictions are those of the stored plan, made before the run began. Imported runs have none.
    """
    import polars as pl

    rows = [row for run_id, plan in _plans(database, run_ids) for row in _rows(run_id, plan)]
    text = dict.fromkeys(("run_id", "step"), pl.String)
    integers = dict.fromkeys(("step_index", "round"), pl.Int64)
    schema: dict[str, Any] = {
        "run_id": text["run_id"], "step_index": integers["step_index"], "step": text["step"],
        "round": integers["round"],
        **dict.fromkeys(
            ("seconds", "mean_iops", "begin_iops", "low_iops", "high_iops", "lasting_iops",
             "lasts_s"), pl.Float64
        ),
        "limited_by": pl.String,
    }  # fmt: skip
    return with_runs(pl.DataFrame(rows, schema=schema, orient="row"), database)


def _plans(database: Engine, run_ids: Sequence[str] | None) -> Iterable[tuple[str, Plan]]:
    query = (
        sa.select(schema.run.c.run_id, schema.trial.c.plan)
        .join(schema.trial, schema.trial.c.trial_id == schema.run.c.trial_id)
        .order_by(schema.run.c.run_id)
    )
    if run_ids is not None:
        query = query.where(schema.run.c.run_id.in_(run_ids))
    with transaction(database) as connection:
        rows = connection.execute(query).all()
    for run_id, column in rows:
        if column is not None:
            plan = json.loads(column) if isinstance(column, str) else column
            yield run_id, Plan.model_validate(plan)


def _rows(run_id: str, plan: Plan) -> Iterable[tuple[object, ...]]:
    expectation = plan.expectation
    if expectation is None or run_id not in plan.run_ids:
        return
    run = plan.run_ids.index(run_id) + 1
    shown = max(
        (expected_step.run for expected_step in expectation.steps if expected_step.run <= run),
        default=run,
    )
    for step in (
        expected_step for expected_step in expectation.steps if expected_step.run == shown
    ):
        expected = expectation.of(step)
        if expected is not None:
            yield (
                run_id,
                step.index,
                step.name,
                step.round,
                step.seconds,
                step.mean_iops,
                expected.begin.iops,
                expected.begin.low_iops,
                expected.begin.high_iops,
                expected.lasting.iops,
                expected.lasts_s,
                expected.begin.words(),
            )
