"""Measurement rows for other programs, in which no mean spans a cliff (MR-3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.model.run import AFTER_CLIFF, own_columns
from diskbench.results.long_steps import long_steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.run import MeasuredRow
    from diskbench.ports import EvidenceStore
    from diskbench.store.reader import Reader

_AS_COUNTED: Mapping[str, Any] = {AFTER_CLIFF: None}


def cliff_safe_rows(
    database: Engine | Reader, rows: Sequence[MeasuredRow], evidence: EvidenceStore | None = None
) -> Iterator[tuple[MeasuredRow, Mapping[str, Any]]]:
    """Each row with the columns that are not as in the database: `after_cliff`, and the figures of
    a level.

    Where a step has several levels, IOPS and bytes a second of its rows are those of the level that
    the step's figure is taken from, divided by each row's share of the step's I/Os and bytes. A row
    whose own seconds contain a cliff gets no latencies, because fio's cover both sides. What fio
    counted (`ios`, `bytes`, `runtime_ns`) is unchanged.
    """
    long = long_steps(rows)
    if not long:
        yield from ((row, _AS_COUNTED) for row in rows)
        return
    # Not imported where no step has phases: it takes longer than exporting thousands of rows.
    from diskbench.analysis.row_figures import changed, counted, row_figures
    from diskbench.results.phase_reader import courses_of

    courses = courses_of(database, long, evidence)
    figures = row_figures(counted(rows), courses) if courses else [None] * len(rows)
    for row, figure in zip(rows, figures, strict=True):
        if figure is None:
            yield row, _AS_COUNTED
        else:
            yield row, {**changed(own_columns(row), figure), AFTER_CLIFF: figure.kind}
