"""The course of a step over the consecutive runs of a trial: a cliff may lie between two of them.

The changes are those of analysis/drift.py, a figure a run, from 20 % on (MR-4's least cliff). What
a level is called follows the rule for phases: if it falls and ends below where it was, the level at
the end and any within 20 % of it are the `baseline`, and those above it `burst`; else all are a
`level`. Below six runs, and where a run is missing a figure, nothing is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from diskbench.analysis.changes import LEAST_CHANGE
from diskbench.analysis.drift import LEAST_HISTORY, drift

if TYPE_CHECKING:
    from diskbench.model.phase import PhaseKind


@dataclass(frozen=True, slots=True)
class RunStretch:
    """Runs [start, end), counted from 0, at one level. `fell_from` is the level before, where it
    fell from there to a baseline."""

    start: int
    end: int
    level: float
    kind: PhaseKind = "level"
    fell_from: float | None = None


def run_course(values: Sequence[float]) -> tuple[RunStretch, ...]:
    """The levels of a step over its runs, in order; one of them, or none below six runs."""
    if len(values) < LEAST_HISTORY or min(values) <= 0:
        return ()
    cuts = [shift.at for shift in drift(values).shifts if _is_change(shift.before, shift.after)]
    edges = [0, *cuts, len(values)]
    levels = [median(values[a:b]) for a, b in pairwise(edges)]
    last = levels[-1]
    fell = any(b <= (1 - LEAST_CHANGE) * a for a, b in pairwise(levels)) and any(
        last <= (1 - LEAST_CHANGE) * level for level in levels
    )
    stretches: list[RunStretch] = []
    for (start, end), level in zip(pairwise(edges), levels, strict=True):
        kind: PhaseKind = "level"
        if fell and level > last / (1 - LEAST_CHANGE):
            kind = "burst"
        elif fell and level >= (1 - LEAST_CHANGE) * last:
            kind = "baseline"
        before = stretches[-1].level if stretches else None
        fell_from = before if kind == "baseline" and before and before > level else None
        stretches.append(RunStretch(start, end, level, kind, fell_from))
    return tuple(stretches)


def courses_over(values: Sequence[float]) -> tuple[RunStretch, ...]:
    """The level that each run is part of, a run each; none below six runs, or where no two of them
    lie as far apart as a change does."""
    if len(values) < LEAST_HISTORY or min(values) > (1 - LEAST_CHANGE) * max(values):
        return ()  # which spares importing what looks for changes
    return tuple(
        stretch for stretch in run_course(values) for _ in range(stretch.start, stretch.end)
    )


def _is_change(before: float, after: float) -> bool:
    return min(before, after) <= (1 - LEAST_CHANGE) * max(before, after)
