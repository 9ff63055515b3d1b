"""Load one figure of many runs, without the other columns of their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from diskbench.model.ids import Known, fits
from diskbench.model.run import MeasuredFigure
from diskbench.store import schema
from diskbench.store.database import transaction
from diskbench.store.query import conditions, id_fits, oldest_first, place_words, runs_by_id

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


def known_labels(database: Engine) -> set[str]:
    """The label keys of all runs."""
    with transaction(database) as connection:
        all_labels = connection.execute(sa.select(schema.run.c.labels)).scalars()
        return {key for labels in all_labels for key in labels}


def ids_that_begin(database: Engine, text: str) -> list[Known]:
    """The runs, trials and campaigns whose ids begin with `text`, or end with it where it is
    as long as a short id, each with its parents. `text` is in lower case and not empty."""
    run = schema.run
    columns = (run.c.campaign_id, run.c.trial_id, run.c.run_id)
    begins = sa.or_(*(id_fits(column, text) for column in columns))
    of_place = (run.c.profile, run.c.provider, run.c.address, run.c.hostname)
    query = sa.select(*columns, *of_place).where(begins).order_by(run.c.run_id)
    by_kind: dict[tuple[str, str], Known] = {}
    with transaction(database) as connection:
        for campaign, trial, name, profile, provider, address, hostname in connection.execute(
            query
        ):
            where = place_words(profile, provider, address or hostname)
            for known in (
                Known(campaign, "matrix", where=where),
                Known(trial, "trial", where=where, part_of=(campaign,)),
                Known(name, "run", where=where, part_of=(campaign, trial)),
            ):
                if known.id is not None:
                    by_kind.setdefault((known.kind, known.id), known)
    return [known for known in by_kind.values() if fits(known.id, text)]
