"""Rows, predictions, series and histograms as polars frames; docs/api.md lists their columns and
units."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from diskbench.fio.histogram import step_histograms
from diskbench.model.result import Direction
from diskbench.model.spec import Plan
from diskbench.ports import EvidenceStore
from diskbench.store.database import fetch
from diskbench.store.export import polars_types
from diskbench.store.query import oldest_first, rows_among
from diskbench.store.result_tables import trial
from diskbench.store.run_row import COLUMNS, bought_for, with_bought
from diskbench.store.schema import run
from diskbench.store.stored_series import (
    closed_steps,
    step_outputs,
    step_series,
    step_types,
    with_step,
)

if TYPE_CHECKING:
    import polars as pl


def runs_frame(database: Engine) -> pl.DataFrame:
    """One row per run, oldest first, undated runs last: its request, machine, disk and end
    state."""
    import polars as pl

    types, query = polars_types(), sa.select(run).order_by(*oldest_first())
    rows = [tuple(map(_plain, row)) for row in fetch(database, query)]
    return pl.DataFrame(rows, schema={c.name: types[c.name] for c in run.c}, orient="row")


def _plain(value: object) -> object:
    """JSON stays text."""
    return json.dumps(value) if isinstance(value, dict | list) else value


def with_runs(frame: pl.DataFrame, database: Engine) -> pl.DataFrame:
    """A frame with a `run_id`, with the columns of what was bought for each run appended."""
    columns = sa.select(run.c.run_id, *(run.c[name] for name in COLUMNS))
    rows = rows_among(database, columns, run.c.run_id, frame["run_id"].unique().to_list())
    bought = {run_id: dict(zip(COLUMNS, values, strict=True)) for run_id, *values in rows}
    return with_bought(frame, bought)


def series_frame(evidence: EvidenceStore, run_id: str, *, step: str | None = None) -> pl.DataFrame:
    """One row per step, second and direction of a run.

    Read from fio's logs at the first call and cached as Parquet beside the evidence. Raises
    UnknownName for a run or step without evidence, FioOutputUnreadable for damaged logs.
    """
    import polars as pl

    frames = [
        with_step(step_series(evidence, run_id, folder, record), run_id, record)
        for folder, record in closed_steps(evidence, run_id, step)
    ]
    frame = pl.concat(frames) if frames else pl.DataFrame(schema={"run_id": pl.String})
    return with_bought(frame, {run_id: bought_for(evidence, run_id)})


def histogram_frame(
    evidence: EvidenceStore,
    run_id: str,
    *,
    step: str | None = None,
    direction: Direction | None = None,
) -> pl.DataFrame:
    """One row per step, direction, kind of latency and bucket: how many I/Os took that long.

    Buckets of all jobs of a step are merged. Raises UnknownName for a run or step without evidence.
    """
    import polars as pl

    own = {"direction": pl.String, "kind": pl.String, "latency_ns": pl.Int64, "count": pl.Int64}
    rows = list(histogram_rows(evidence, run_id, step=step, direction=direction))
    frame = pl.DataFrame(rows, schema={**step_types(), **own})
    return with_bought(frame, {run_id: bought_for(evidence, run_id)})


def histogram_rows(
    evidence: EvidenceStore,
    run_id: str,
    *,
    step: str | None = None,
    direction: Direction | None = None,
) -> Iterator[dict[str, Any]]:
    """The rows of `histogram_frame`, without what was bought."""
    for fio_step, output in step_outputs(evidence, run_id, step):
        of_step = {"step_index": fio_step.index, "step": fio_step.name, "round": fio_step.round}
        directions = {d for job in output.jobs for d in job.directions}
        for direction_name in sorted(directions if direction is None else directions & {direction}):
            for kind, histogram in step_histograms(output, direction_name).items():
                key = {"run_id": run_id, **of_step, "direction": direction_name, "kind": kind}
                for latency, count in histogram.items():
                    yield {**key, "latency_ns": latency, "count": count}


def expected_frame(database: Engine, *, run_ids: Sequence[str] | None = None) -> pl.DataFrame:
    """One row per run and step with a prediction; docs/api.md lists the columns.

    Predictions are those of the stored plan, made before the run began. Imported runs have none.
    """
    import polars as pl

    query = sa.select(run.c.run_id, trial.c.plan).order_by(run.c.run_id)
    query = query.join(trial, trial.c.trial_id == run.c.trial_id)
    if run_ids is not None:
        query = query.where(run.c.run_id.in_(run_ids))
    rows = list[tuple[object, ...]]()
    for run_id, column in fetch(database, query):
        if column is not None:
            plan = json.loads(column) if isinstance(column, str) else column
            rows += _expected_rows(run_id, Plan.model_validate(plan))
    numbers = (
        "seconds", "mean_iops", "begin_iops", "low_iops", "high_iops", "lasting_iops", "lasts_s",
    )  # fmt: skip
    types: dict[str, type[pl.DataType]] = dict.fromkeys(numbers, pl.Float64)
    types = {**step_types(), **types, "limited_by": pl.String}
    return with_runs(pl.DataFrame(rows, schema=types, orient="row"), database)


def _expected_rows(run_id: str, plan: Plan) -> Iterable[tuple[object, ...]]:
    expectation = plan.expectation
    if expectation is None or run_id not in plan.run_ids:
        return
    run = plan.run_ids.index(run_id) + 1
    shown = max((step.run for step in expectation.steps if step.run <= run), default=run)
    for step in expectation.steps:
        expected = expectation.of(step)
        if step.run == shown and expected is not None:
            begin = expected.begin
            yield (
                run_id, step.index, step.name, step.round, step.seconds, step.mean_iops,
                begin.iops, begin.low_iops, begin.high_iops, expected.lasting.iops,
                expected.lasts_s, begin.words(),
            )  # fmt: skip
