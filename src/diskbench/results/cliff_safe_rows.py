"""Measurement rows for other programs, in which no mean spans a cliff (MR-3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.analysis.row_figures import AFTER_CLIFF, changed, counted, row_figures
from diskbench.model.run import measured_columns
from diskbench.results.phase_reader import courses_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.run import MeasuredRow
    from diskbench.ports import EvidenceStore


def levelled(
    database: Engine, rows: Sequence[MeasuredRow], evidence: EvidenceStore | None = None
) -> list[dict[str, Any]]:
    """The rows as dictionaries by column name, each with the column `after_cliff`.

    Where a step has several levels, IOPS and bytes a second of its rows are those of the level that
    the step's figure is taken from, divided by each row's share of the step's I/Os and bytes. A row
    whose own seconds contain a cliff gets no latencies, because fio's cover both sides. What fio
    counted (`ios`, `bytes`, `runtime_ns`) is unchanged.
    """
    figures = row_figures(counted(rows), courses_of(database, rows, evidence))
    return [
        {**row, AFTER_CLIFF: None}
        if figure is None
        else {**row, **changed(row, figure), AFTER_CLIFF: figure.kind}
        for row, figure in zip(map(measured_columns, rows), figures, strict=True)
    ]
