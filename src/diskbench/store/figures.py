"""Load one figure of many runs, without the other columns of their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from diskbench.model.run import MeasuredFigure
from diskbench.store import schema
from diskbench.store.database import transaction
from diskbench.store.query import conditions, oldest_first, runs_by_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.comparison import Metric
    from diskbench.store.query import Filter

_OF_ROW = (
    "step_index", "step", "role", "direction", "round", "rw", "block_bytes", "iodepth", "ios",
    "bytes", "runtime_ns", "iops", "bytes_per_s",
)  # fmt: skip
_MEASURED = ("measure", "offered")


def load_figures(
    database: Engine, filters: Sequence[Filter], metric: Metric
) -> list[MeasuredFigure]:
    """One row per step, round and direction of each finished run that meets `filters`, in order.

    `rent` is None for a machine that was not rented or is unknown. Fills, canaries, steps without
    I/O and steps without the figure are left out.
    """
    run, trial, row = schema.run, schema.trial, schema.measurement
    query = (
        sa.select(
            run.c.run_id,
            trial.c.plan["cell"]["rent"].label("rent"),
            *(row.c[name] for name in _OF_ROW),
            row.c[metric].label("value"),
        )
        .join_from(run, row, run.c.run_id == row.c.run_id)
        .join(trial, trial.c.trial_id == run.c.trial_id)
        .where(
            *conditions(filters),
            run.c.state == "done",
            row.c.scope == "step",
            row.c.role.in_(_MEASURED),
            sa.or_(row.c.ios.is_(None), row.c.ios > 0),
            row.c[metric] > 0,
        )
        .order_by(*oldest_first(), row.c.step_index, row.c.position)
    )
    with transaction(database) as connection:
        rows = connection.execute(query).all()
        runs = runs_by_id(connection, {row_of_run[0] for row_of_run in rows})
    return [MeasuredFigure(runs[run_id], *of_row) for run_id, *of_row in rows]


def count_trials(database: Engine, campaign_id: str) -> int:
    """How many trials of a campaign have a finished run."""
    run = schema.run
    query = sa.select(sa.func.count(run.c.trial_id.distinct())).where(
        run.c.campaign_id == campaign_id, run.c.state == "done"
    )
    with transaction(database) as connection:
        return int(connection.execute(query).scalar_one())
