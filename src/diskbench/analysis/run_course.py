"""The course of a step over the consecutive runs of a trial: a cliff may lie between two of them.

The changes are found as those of a step's seconds are (analysis/changes.py), a figure a run, two
runs a level or more, with the penalty for correlated noise: runs on one machine depend on each
other, and with that for white noise a third of all series of 100 runs with a lag-1 correlation of
0.44 and a standard deviation of 15 % would be split. Levels less than 20 % apart are one (MR-4's
least cliff). A single run far from its neighbours is taken for the nearer of them.

    σ        = the standard deviation of all runs around the levels that they are part of
    errors   = difference of two neighbouring levels in standard errors, at the correlation φ
    a change : errors / (1 + (φ − 0.44) / 2) ≥ 3.0 for up to 10 runs, 3.6 from 18 on; for few runs
               at the same probability by Student's t

Steps of one run spend one bucket and change together: where another step changed, one that did the
same at that run (or one beside it) changed there by a twentieth or more and 2.5 standard errors
(the run is known, so chance has one place and not all). Where none shows a change by itself, the
mean of all may: each counts by how little it varies. A bucket refills between runs, so there may be
several bursts. All our choice; benchmarks/rates.py has the rates.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np

from diskbench.analysis.changes import LEAST_CHANGE, segment
from diskbench.analysis.drift import LEAST_HISTORY
from diskbench.analysis.segmentation import Floats
from diskbench.model.phase import PhaseKind

_PHI = 0.44
"""The lag-1 correlation of runs on one machine that is assumed at least; our choice, from series of
2018."""
_MOST_PHI = 0.95
_LEAST_ERRORS = (3.0, 3.6)
_FEW, _MANY = 10, 18
"""Chance has more places for a cut in a longer series."""
_DOUBT_OF_PHI = 0.5
"""The correlation that is left around two levels is less than that around one."""
_LEAST_SIGMA = 1e-3
_BESIDE = 0.05
_BESIDE_ERRORS = 2.5
_SHORTEST = 2
_ODD = 4 * 1.4826
"""Median absolute deviations of neighbouring runs' differences, from which one run is odd."""


@dataclass(frozen=True, slots=True)
class SeriesPart:
    """Runs or seconds [start, end), counted from 0, at one level. `fell_from` is the level before,
    where it fell from there to a baseline; `is_joint`: other steps changed in the same run;
    `sharp`: it begins with a sharp change."""

    start: int
    end: int
    level: float
    kind: PhaseKind = "level"
    fell_from: float | None = None
    is_joint: bool = False
    sharp: bool = False


def run_course(values: Sequence[float]) -> tuple[SeriesPart, ...]:
    """The levels of a step over its runs, in order; one of them, or none below six runs."""
    if len(values) < LEAST_HISTORY or min(values) <= 0:
        return ()
    return _stretches(values, _changes(values))


def courses_over(values: Sequence[float]) -> tuple[SeriesPart, ...]:
    """The level that each run is part of, a run each; none below six runs, or where no two of them
    lie as far apart as a change does."""
    if len(values) < LEAST_HISTORY or min(values) > (1 - LEAST_CHANGE) * max(values):
        return ()  # which spares importing what looks for changes
    return _each(run_course(values))


Course = tuple[SeriesPart, ...]
_Runs = Sequence[tuple[int, float]]
"""The figure of each run with its number."""


def joint_courses(series: Mapping[str, _Runs]) -> dict[str, Course]:
    """The level that each run of each step is part of, as `courses_over`; of each step its values
    with the number of the run. Steps that changed in the same run support each other."""
    courses = {name: courses_over([value for _, value in of]) for name, of in series.items()}
    if len(series) < 2:
        return courses
    long = {
        name: of
        for name, of in series.items()
        if len(of) >= LEAST_HISTORY and min(value for _, value in of) > 0
    }
    cuts = {
        name: {of[cut.start][0]: _falls(courses[name], at) for at, cut in _cuts(courses[name])}
        for name, of in long.items()
    }
    known: dict[int, bool] = {run: fell for of in cuts.values() for run, fell in of.items()}
    known |= _together({name: of for name, of in long.items() if not cuts[name]})
    leader = max(courses.values(), key=lambda of: len(set(of)), default=())
    for name, of in long.items() if known else ():
        values = [value for _, value in of]
        here = [_near(values, of, run, fell=fell) for run, fell in known.items()]
        added = {at for at in here if at is not None}
        own = {stretch.start for _, stretch in _cuts(courses[name])}
        added = {at for at in added if all(abs(at - other) > 1 for other in own)}
        if added and not own:
            courses[name] = _each(_joint(values, sorted(added), leader))
    return courses


def _each(course: Sequence[SeriesPart]) -> tuple[SeriesPart, ...]:
    return tuple(stretch for stretch in course for _ in range(stretch.start, stretch.end))


def _cuts(course: Sequence[SeriesPart]) -> list[tuple[int, SeriesPart]]:
    """Return the stretches of a course that begin with a change, with their indices."""
    return list(enumerate(dict.fromkeys(course)))[1:]


def _falls(course: Sequence[SeriesPart], at: int) -> bool:
    levels = [stretch.level for stretch in dict.fromkeys(course)]
    return levels[at] < levels[at - 1]


def _stretches(values: Sequence[float], cuts: Sequence[int]) -> tuple[SeriesPart, ...]:
    """Return the stretches between the cuts, with their kinds."""
    edges = [0, *cuts, len(values)]
    levels = [median(values[a:b]) for a, b in pairwise(edges)]
    fallen = [b for a, b in pairwise(levels) if b <= (1 - LEAST_CHANGE) * a]
    base = levels[-1] if any(levels[-1] <= (1 - LEAST_CHANGE) * level for level in levels) else None
    if base is None and len(fallen) > 1:
        lowest = min(fallen)
        alike = [level for level in fallen if level <= lowest / (1 - LEAST_CHANGE)]
        base = median(alike) if len(alike) > 1 else None
    stretches: list[SeriesPart] = []
    for (start, end), level in zip(pairwise(edges), levels, strict=True):
        kind: PhaseKind = "level"
        if base is not None and fallen and level > base / (1 - LEAST_CHANGE):
            kind = "burst"
        elif base is not None and fallen and level >= (1 - LEAST_CHANGE) * base:
            kind = "baseline"
        before = stretches[-1].level if stretches else None
        fell_from = before if kind == "baseline" and before and before > level else None
        stretches.append(SeriesPart(start, end, level, kind, fell_from))
    return tuple(stretches)


def _together(series: Mapping[str, _Runs]) -> dict[int, bool]:
    """Return the runs at which the steps changed together, and whether they fell: by the mean of
    their logs, of which each counts by how little it varies from run to run."""
    if len(series) < 2:
        return {}
    of_runs = [dict(of) for of in series.values()]
    runs = sorted(set(of_runs[0]).intersection(*of_runs[1:]))
    if len(runs) < LEAST_HISTORY:
        return {}
    logs = np.log(np.array([[of[run] for run in runs] for of in of_runs]))
    steps = np.median(np.abs(np.diff(logs, axis=1)), axis=1)
    weights = 1 / np.maximum(steps, _LEAST_SIGMA) ** 2
    values = np.exp(weights @ logs / weights.sum()).tolist()
    edges = [0, *_changes(values, least_change=_BESIDE), len(runs)]
    levels = [median(values[a:b]) for a, b in pairwise(edges)]
    return {runs[at]: b < a for at, (a, b) in zip(edges[1:-1], pairwise(levels), strict=True)}


def _near(values: Sequence[float], of: _Runs, run: int, *, fell: bool) -> int | None:
    """Return where a step changed as others did at `run` or beside it; None if it did not."""
    logs, candidates = np.log(np.asarray(values, dtype=np.float64)), list[tuple[float, int]]()
    for cut, (number, _) in enumerate(of):
        if abs(number - run) > 1 or not _SHORTEST <= cut <= len(values) - _SHORTEST:
            continue
        before, after = median(values[:cut]), median(values[cut:])
        high, low = (before, after) if fell else (after, before)
        if low <= (1 - _BESIDE) * high:
            candidates.append((_errors(logs, [0, cut, len(values)], 0), cut))
    best = max(candidates, default=(0.0, 0))
    return best[1] if best[0] >= _BESIDE_ERRORS else None


def _joint(values: Sequence[float], cuts: Sequence[int], leader: Sequence[SeriesPart]) -> Course:
    """The stretches of a step that changed beside others, called as of the one that shows most."""
    stretches: list[SeriesPart] = []
    for start, end in pairwise([0, *cuts, len(values)]):
        level = median(values[start:end])
        before = stretches[-1].level if stretches else None
        middle = leader[min((start + end) // 2, len(leader) - 1)] if leader else None
        kind: PhaseKind = middle.kind if middle is not None else "level"
        if middle is None or kind == "level":
            later = median(values[cuts[-1] :])
            kind = "baseline" if level <= later < values[0] else "burst" if level > later else kind
        fell_from = before if kind == "baseline" and before and before > level else None
        stretches.append(SeriesPart(start, end, level, kind, fell_from, is_joint=True))
    return tuple(stretches)


def _changes(values: Sequence[float], *, least_change: float = LEAST_CHANGE) -> list[int]:
    """Return the runs at which a level begins; the levels that are most alike are joined first."""
    kept = _without_odd(np.log(np.asarray(values, dtype=np.float64)))
    cuts = segment(kept, _SHORTEST)
    least = float(np.interp(len(values), (_FEW, _MANY), _LEAST_ERRORS))
    while cuts:
        edges = [0, *cuts, len(values)]
        levels = [median(values[a:b]) for a, b in pairwise(edges)]
        ratios = [min(pair) / max(pair) for pair in pairwise(levels)]
        alike = max(range(len(ratios)), key=ratios.__getitem__)
        errors = [_errors(kept, edges, at) for at in range(len(cuts))]
        chance = min(range(len(errors)), key=errors.__getitem__)
        if ratios[alike] > 1 - least_change:
            del cuts[alike]
        elif errors[chance] < least:
            del cuts[chance]
        else:
            break
    cuts = [_first(values, cuts, at) for at in range(len(cuts))]
    return [cut for cut, after in pairwise([*cuts, len(values)]) if after - cut >= _SHORTEST]


def _without_odd(logs: Floats) -> Floats:
    """Return the series in which a single run that lies far from both neighbours is the nearer one
    of them; the first and the last run have one neighbour each, and stay."""
    steps = np.diff(logs)
    reach = max(_ODD * float(np.median(np.abs(steps))), -math.log(1 - LEAST_CHANGE))
    kept = logs.copy()
    for at in range(1, logs.size - 1):
        to_before, to_after = logs[at] - logs[at - 1], logs[at] - logs[at + 1]
        nearer = min(to_before, to_after, key=abs)
        if to_before * to_after > 0 and abs(nearer) > reach:
            kept[at] = logs[at] - nearer
    return kept


def _errors(logs: Floats, edges: Sequence[int], at: int) -> float:
    """Return by how many standard errors the levels before and after a cut differ, for runs whose
    neighbours correlate by `_PHI`, or by more where theirs do: few runs show less correlation than
    there is. Fewer runs are compared by Student's t, as that many standard errors of many."""
    parts = [logs[a:b] for a, b in pairwise(edges)]
    deviations = [part - part.mean() for part in parts]
    squares = sum(float((part**2).sum()) for part in deviations)
    free = max(logs.size - len(parts), 1)
    sigma = max(math.sqrt(squares / free), _LEAST_SIGMA)
    together = sum(float((part[1:] * part[:-1]).sum()) for part in deviations)
    own = together / squares if squares > 0 else 0.0
    own += max(1 + 3 * own, 0.0) * len(parts) / logs.size  # its bias (Marriott and Pope 1954)
    phi = min(max(_PHI, own), _MOST_PHI)
    independent = (1 - phi) / (1 + phi)
    sides = parts[at], parts[at + 1]
    scale = math.sqrt(sum(1 / (side.size * independent) for side in sides))
    t = abs(float(np.mean(sides[1]) - np.mean(sides[0]))) / (sigma * scale)
    # The normal figure that is as unlikely (Wallace 1959).
    errors = math.sqrt(free * math.log1p(t * t / free)) * (8 * free + 1) / (8 * free + 3)
    return errors / (1 + _DOUBT_OF_PHI * (phi - _PHI))


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
