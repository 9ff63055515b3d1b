"""The course of a step over the consecutive runs of a trial: a cliff may lie between two of them.

The changes are found as those of a step's seconds are (analysis/changes.py), a figure a run, three
runs a level or more, with the penalty for correlated noise: runs on one machine depend on each
other, and with that for white noise a third of all series of 100 runs with a lag-1 correlation of
0.44 and a standard deviation of 15 % would be split. Levels less than 20 % apart are one (MR-4's
least cliff). What a level is called follows the rule for phases: if it falls and ends below where
it was, the level at the end and any within 20 % of it are the `baseline`, and those above it
`burst`; else all are a `level`. Below six runs, and where a run is missing a figure, nothing is
said.

Steps of one run spend one bucket and fall together: where another step fell, one that came down at
the same run (or one beside it) fell there, too, by a twentieth or more and three standard errors
(our choice: the run is known, so chance has one place and not all).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np
from numpy.typing import NDArray

from diskbench.analysis.changes import LEAST_CHANGE, segment
from diskbench.analysis.drift import LEAST_HISTORY, SHORTEST
from diskbench.model.phase import PhaseKind

Floats = NDArray[np.float64]

_PHI = 0.44
"""The lag-1 correlation of runs on one machine that is assumed at least; our choice, from series of
2018."""
_MOST_PHI = 0.95
_LEAST_ERRORS = 4.0
_LEAST_SIGMA = 1e-3
_BESIDE = 0.05
_BESIDE_ERRORS = 3.0


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
    edges = [0, *_changes(values), len(values)]
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


def joint_courses(
    series: Mapping[str, Sequence[tuple[int, float]]],
) -> dict[str, tuple[RunStretch, ...]]:
    """The level that each run of each step is part of, as `courses_over`; of each step its values
    with the number of the run. A step that fell beside others that fell has two levels."""
    courses = {name: courses_over([value for _, value in of]) for name, of in series.items()}
    falls = {
        series[name][stretch.start][0]
        for name, of_runs in courses.items()
        for stretch in of_runs
        if stretch.fell_from is not None
    }
    for name, of in series.items():
        if falls and not any(stretch.fell_from is not None for stretch in courses[name]):
            beside = _fell_beside(of, falls)
            courses[name] = beside or courses[name]
    return courses


def _fell_beside(of: Sequence[tuple[int, float]], falls: Collection[int]) -> tuple[RunStretch, ...]:
    """The two levels of a step that fell where other steps did, a run each; else none."""

    values = [value for _, value in of]
    if len(values) < LEAST_HISTORY or min(values) <= 0:
        return ()
    logs, candidates = np.log(np.asarray(values, dtype=np.float64)), list[tuple[float, int]]()
    for cut, (run, _) in enumerate(of):
        is_near = any(abs(run - fall) <= 1 for fall in falls)
        if is_near and SHORTEST <= cut <= len(values) - SHORTEST:
            before, after = median(values[:cut]), median(values[cut:])
            if after <= (1 - _BESIDE) * before:
                candidates.append((_errors(logs, 0, cut, len(values)), cut))
    if not candidates or max(candidates)[0] < _BESIDE_ERRORS:
        return ()
    cut = max(candidates)[1]
    before, after = median(values[:cut]), median(values[cut:])
    burst = RunStretch(0, cut, before, "burst")
    lasting = RunStretch(cut, len(values), after, "baseline", before)
    return (*(burst for _ in range(cut)), *(lasting for _ in range(cut, len(values))))


def _changes(values: Sequence[float]) -> list[int]:
    """Return the runs at which a level begins, without those between levels that are alike; the
    most alike are joined first."""

    logs = np.log(np.asarray(values, dtype=np.float64))
    cuts = segment(logs, SHORTEST)
    while cuts:
        edges = [0, *cuts, len(values)]
        levels = [median(values[a:b]) for a, b in pairwise(edges)]
        ratios = [min(pair) / max(pair) for pair in pairwise(levels)]
        alike = max(range(len(ratios)), key=ratios.__getitem__)
        errors = [_errors(logs, *edges[at : at + 3]) for at in range(len(cuts))]
        chance = min(range(len(errors)), key=errors.__getitem__)
        if ratios[alike] > 1 - LEAST_CHANGE:
            del cuts[alike]
        elif errors[chance] < _LEAST_ERRORS:
            del cuts[chance]
        else:
            break
    return [_first(values, cuts, at) for at in range(len(cuts))]


def _errors(logs: Floats, begin: int, at: int, end: int) -> float:
    """Return by how many standard errors two neighbouring levels differ, for runs whose neighbours
    correlate by `_PHI`, or by more where theirs do: few runs show less correlation than there is.
    """

    sides = (logs[begin:at], logs[at:end])
    deviations = [side - side.mean() for side in sides]
    squares = sum(float((side**2).sum()) for side in deviations)
    sigma = max(math.sqrt(squares / max(end - begin - 2, 1)), _LEAST_SIGMA)
    together = sum(float((side[1:] * side[:-1]).sum()) for side in deviations)
    own = together / squares if squares > 0 else 0.0
    phi = min(max(_PHI, own), _MOST_PHI)
    independent = (1 - phi) / (1 + phi)
    scale = math.sqrt(sum(1 / (side.size * independent) for side in sides))
    return abs(float(np.mean(sides[1]) - np.mean(sides[0]))) / (sigma * scale)


def _first(values: Sequence[float], cuts: Sequence[int], at: int) -> int:
    """Return the run at which a change is, by the nearer level of the runs beside it."""
    edges = [0, *cuts, len(values)]
    before = median(values[edges[at] : edges[at + 1]])
    after = median(values[edges[at + 1] : edges[at + 2]])
    middle, cut = (before * after) ** 0.5, edges[at + 1]
    is_fall = after < before
    while cut > edges[at] + 1 and (values[cut - 1] < middle) == is_fall:
        cut -= 1
    while cut < edges[at + 2] - 1 and (values[cut] < middle) != is_fall:
        cut += 1
    return cut
