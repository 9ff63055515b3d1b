"""Measurement rows for other programs, in which no mean spans a cliff (MR-3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.analysis.row_figures import AFTER_CLIFF, changed, counted, row_figures
from diskbench.model.run import own_columns, run_columns
from diskbench.results.phase_reader import courses_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.run import MeasuredRow, Run
    from diskbench.ports import EvidenceStore


def levelled(
    database: Engine, rows: Sequence[MeasuredRow], evidence: EvidenceStore | None = None
) -> list[dict[str, Any]]:
    """The rows as dictionaries by column name, those of their run before their own; see
    `levelled_rows`."""
    return [run_columns(run) | own for run, own in levelled_rows(database, rows, evidence)]


def levelled_rows(
    database: Engine, rows: Sequence[MeasuredRow], evidence: EvidenceStore | None = None
) -> Iterator[tuple[Run, dict[str, Any]]]:
    """Each row's run and its own columns by name, with the column `after_cliff`.

    Where a step has several levels, IOPS and bytes a second of its rows are those of the level that
    the step's figure is taken from, divided by each row's share of the step's I/Os and bytes. A row
    whose own seconds contain a cliff gets no latencies, because fio's cover both sides. What fio
    counted (`ios`, `bytes`, `runtime_ns`) is unchanged.
    """
    courses = courses_of(database, rows, evidence)
    figures = row_figures(counted(rows), courses) if courses else [None] * len(rows)
    for row, figure in zip(rows, figures, strict=True):
        own = own_columns(row)
        if figure is not None:
            own |= changed(own, figure)
        own[AFTER_CLIFF] = None if figure is None else figure.kind
        yield row.run, own
