"""Own runs beside a published figure, only runs at one level: no figure spans a cliff (MR-3).

A published figure is a mean over runs, so ours is a mean as well; but if the disk fell between two
runs and stayed low (analysis/drift.py), only the runs after the fall are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from diskbench.analysis.drift import fall_of
from diskbench.catalog.differences import Beside, beside

if TYPE_CHECKING:
    from diskbench.catalog.post_file import Published
    from diskbench.model.result import Measurement

_RATES = frozenset({"iops", "bytes_per_s"})


def run_values(
    figure: Published, measured: Sequence[Measurement], *, gobonniego_file: bool = False
) -> dict[str, float]:
    """Our value by run id, for each run that has the figure, in the order of the runs."""
    values = {}
    for run_id in dict.fromkeys(row.run_id for row in measured):
        of_run = [row for row in measured if row.run_id == run_id]
        for pair in beside([figure], of_run, gobonniego_file=gobonniego_file):
            values[run_id] = pair.ours
    return values


def at_one_level(
    figure: Published, measured: Sequence[Measurement], *, gobonniego_file: bool = False
) -> Beside | None:
    """The figure beside ours, over the runs at the lasting level; None if no row has the figure."""
    values = run_values(figure, measured, gobonniego_file=gobonniego_file)
    fall = fall_of(tuple(values.values())) if figure.metric in _RATES else None
    run_ids = set(list(values)[fall.index :] if fall is not None else values)
    rows = [row for row in measured if row.run_id in run_ids]
    return next(iter(beside([figure], rows, gobonniego_file=gobonniego_file)), None)
