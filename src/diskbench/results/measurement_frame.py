"""Measurement rows as a polars frame, in which no mean spans a cliff (MR-3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diskbench.analysis.row_figures import changed, counted_columns, row_figures
from diskbench.model.run import AFTER_CLIFF
from diskbench.results.phase_reader import courses_of
from diskbench.store.frames import measurements_frame
from diskbench.store.query import find_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from sqlalchemy.engine import Engine

    from diskbench.analysis.row_figures import Counted
    from diskbench.model.run import Run
    from diskbench.ports import EvidenceStore

_LONG_NS = 9_800_000_000
"""Evidence of shorter steps is not read: they have no levels (results/phase_reader.py)."""
_PLACE = "place in the frame"


@dataclass(frozen=True, slots=True)
class _StepRow:
    """A row of the frame with its run."""

    run: Run
    counted: Counted

    @property
    def step(self) -> str:
        return self.counted.step

    @property
    def step_index(self) -> int:
        return self.counted.step_index

    @property
    def round(self) -> int | None:
        return self.counted.round

    @property
    def runtime_ns(self) -> int | None:
        return self.counted.runtime_ns


def cliff_safe_frame(
    database: Engine,
    *,
    run_ids: Sequence[str] | None = None,
    evidence: EvidenceStore | None = None,
) -> pl.DataFrame:
    """One row per run, step, job and direction, as `measurements_frame` returns them, with the
    column `after_cliff`: the kind of the level that the row's figures are taken from, where its
    step has several (None: the figures are as fio counted them).

    Seconds are read from `evidence`, or from each run's own store; the rows of a run whose evidence
    is gone stay as fio counted them. Raises StoreUnavailable.
    """
    import polars as pl

    frame = measurements_frame(database, run_ids=run_ids).with_row_index(_PLACE)
    frame = frame.with_columns(pl.lit(None, dtype=pl.String).alias(AFTER_CLIFF))
    long = pl.col("runtime_ns").sum().over("run_id", "step") >= _LONG_NS
    rows = frame.filter(long).to_dicts() if frame.height else []
    cliff_safe = _cliff_safe_rows(rows, database, evidence)
    if cliff_safe:
        unchanged = frame.filter(~pl.col(_PLACE).is_in([row[_PLACE] for row in cliff_safe]))
        frame = pl.concat([unchanged, pl.DataFrame(cliff_safe, schema=frame.schema)]).sort(_PLACE)
    return frame.drop(_PLACE)


def _cliff_safe_rows(
    rows: Sequence[dict[str, Any]], database: Engine, evidence: EvidenceStore | None
) -> list[dict[str, Any]]:
    """The rows of steps with several levels, each with the figures of one level."""
    if not rows:
        return []
    steps = counted_columns(rows)
    ids = list(dict.fromkeys(step.run_id for step in steps))
    runs = {run.run_id: run for run in find_runs(database, run_ids=ids)}
    known = [_StepRow(runs[step.run_id], step) for step in steps if step.run_id in runs]
    courses = courses_of(database, known, evidence)
    return [
        {**row, **changed(row, figure), AFTER_CLIFF: figure.kind}
        for row, figure in zip(rows, row_figures(steps, courses), strict=True)
        if figure is not None
    ]
