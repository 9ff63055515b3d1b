"""Which steps are long enough to have phases: known from their rows, before any evidence is read.

Without the modules that read evidence, whose import takes longer than exporting thousands of rows:
quick runs, which most stores consist of, have no such steps.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

from diskbench.analysis.changes import SHORTEST_STEP_S
from diskbench.model.run import MeasuredFigure
from diskbench.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.run import Run

_LEAST_S = 10.0
_ALMOST = 0.98
"""fio's own run time may be up to 2 % below that of its process, by which phases are cut."""


class StepRow(Protocol):
    """A row from which the run time of its step is known: of figures or of measurements."""

    @property
    def run(self) -> Run:
        """The run to which the row belongs."""

    @property
    def step(self) -> str:
        """The name of the step."""

    @property
    def step_index(self) -> int:
        """Its place in the plan."""

    @property
    def round(self) -> int | None:
        """The number of the round; None for a step that is not repeated."""

    @property
    def runtime_ns(self) -> int | None:
        """How long fio ran; None where a tool of others does not say."""


def long_steps(rows: Sequence[StepRow]) -> list[StepRow]:
    """One row of each step whose rounds together lasted long enough to have phases."""
    steps: dict[tuple[str, str], list[StepRow]] = {}
    for row in rows:
        steps.setdefault((row.run.run_id, row.step), []).append(row)
    long_rows = []
    for group in steps.values():
        rounds = {(row.step_index, row.round): row.runtime_ns or 0 for row in group}
        shortest_s = max(_LEAST_S, SHORTEST_STEP_S / _time_scale(group[0]))
        if math.fsum(rounds.values()) / NS_PER_S >= _ALMOST * shortest_s:
            long_rows.append(group[0])
    return long_rows


def _time_scale(row: StepRow) -> float:
    if not isinstance(row, MeasuredFigure):  # such a row says who made the machine, not how
        return SHORTEST_STEP_S / _LEAST_S if row.run.provider == "lab" else 1.0
    lab = (row.rent or {}).get("lab") or {}
    return max(1.0, float(lab.get("time_scale") or 1.0))
