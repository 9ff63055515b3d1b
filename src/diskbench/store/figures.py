"""Load some figures of many runs, without the other columns of their rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from diskbench.model.run import MeasuredFigure
from diskbench.store import schema
from diskbench.store.database import transaction
from diskbench.store.reader import OLDEST_FIRST, chunks, reader_of, runs_by_id
from diskbench.store.where import ROW_TABLE, RUN_TABLE, among, both, where

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.comparison import Metric
    from diskbench.store.reader import Reader
    from diskbench.store.where import Filter

_OF_ROW = ", ".join(
    f"{ROW_TABLE}.{name}"
    for name in (
        "step_index", "step", "role", "direction", "round", "rw", "block_bytes", "iodepth", "ios",
        "bytes", "runtime_ns", "iops", "bytes_per_s",
    )
)  # fmt: skip
_ROLE = f"{ROW_TABLE}.role"
_MEASURED = ("measure", "offered")


def load_figures(
    database: Engine,
    filters: Sequence[Filter],
    metrics: Sequence[Metric],
    *,
    trial_ids: Sequence[str] | None = None,
) -> dict[Metric, list[MeasuredFigure]]:
    """By metric, one row per step, round and direction of each finished run that meets `filters`,
    in order; with `trial_ids` (some hundreds) only of these trials. The runs are read once, and the
    rows of all metrics in one statement.

    `rent` is None for a machine that was not rented or is unknown. Fills, canaries, steps without
    I/O and steps without the figure are left out.
    """
    names = list(dict.fromkeys(metrics))
    reader = reader_of(database)
    met = where(filters, reader.dialect)
    if trial_ids is not None:
        met = both(met, among(f"{RUN_TABLE}.trial_id", trial_ids))
    values, roles = [f"{ROW_TABLE}.{name}" for name in names], among(_ROLE, _MEASURED)
    some = " OR ".join(f"{value} > 0" for value in values)
    query = (
        f"SELECT {RUN_TABLE}.run_id, {', '.join(values)}, {_OF_ROW} "  # noqa: S608 - our names
        f"FROM {RUN_TABLE} "
        f"JOIN {ROW_TABLE} ON {ROW_TABLE}.run_id = {RUN_TABLE}.run_id "
        f"WHERE {met.text} AND {RUN_TABLE}.state = 'done' AND {ROW_TABLE}.scope = 'step' "
        f"AND {roles.text} AND ({ROW_TABLE}.ios IS NULL OR {ROW_TABLE}.ios > 0) AND ({some}) "
        f"ORDER BY {OLDEST_FIRST}, {ROW_TABLE}.step_index, {ROW_TABLE}.position"
    )
    rows = reader.rows(query, [*met.values, *roles.values])
    runs = runs_by_id(reader, list(dict.fromkeys(row[0] for row in rows)))
    rents = rents_of(reader, list(dict.fromkeys(run.trial_id for run in runs.values())))
    figures: dict[Metric, list[MeasuredFigure]] = {name: [] for name in names}
    for run_id, *of_row in rows:
        run, shared = runs[run_id], of_row[len(names) :]
        for name, value in zip(names, of_row, strict=False):
            if value is not None and value > 0:
                figures[name].append(MeasuredFigure(run, rents[run.trial_id], *(*shared, value)))
    return figures


def rents_of(reader: Reader, trial_ids: Sequence[str]) -> dict[str, Mapping[str, Any] | None]:
    """What was to be rented for each trial, as typed."""
    rents: dict[str, Mapping[str, Any] | None] = {}
    for chunk in chunks(trial_ids):
        met = among("trial_id", chunk)
        query = f"SELECT trial_id, rent FROM diskbench_trial WHERE {met.text}"  # noqa: S608
        for trial_id, rent in reader.rows(query, met.values):
            rents[trial_id] = json.loads(rent) if isinstance(rent, str) else rent
    return rents


@dataclass(frozen=True, slots=True)
class FinishedTrial:
    """A trial with finished runs: one of them, and how many there are."""

    trial_id: str
    run_id: str
    runs: int


def finished_trials(database: Engine, filters: Sequence[Filter]) -> list[FinishedTrial]:
    """The trials with finished runs that meet `filters`, oldest first and those without a date
    last."""
    reader = reader_of(database)
    met = where(filters, reader.dialect)
    query = (
        f"SELECT {RUN_TABLE}.trial_id, min({RUN_TABLE}.run_id), count(*) FROM {RUN_TABLE} "  # noqa: S608
        f"WHERE {met.text} AND {RUN_TABLE}.state = 'done' GROUP BY {RUN_TABLE}.trial_id "
        f"ORDER BY min({RUN_TABLE}.measured_at) NULLS LAST, min({RUN_TABLE}.run_id)"
    )
    return [FinishedTrial(*row) for row in reader.rows(query, met.values)]


def count_trials(database: Engine, campaign_id: str) -> int:
    """How many trials of a campaign have a finished run."""
    run = schema.run
    query = sa.select(sa.func.count(run.c.trial_id.distinct())).where(
        run.c.campaign_id == campaign_id, run.c.state == "done"
    )
    with transaction(database) as connection:
        return int(connection.execute(query).scalar_one())
