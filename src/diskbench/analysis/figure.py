"""The figure of a step: the one number that represents it everywhere (MR-3, MR-5; docs/METHOD.md,
"The figure of a step"). Nothing is averaged but the seconds of a level: none averages across a
cliff, and none omits slow seconds, as those of a stall between two stretches of one level. All
outputs take their figures from here (tests/unit/cli/test_one_figure.py)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from diskbench.analysis.changes import LEAST_CHANGE
from diskbench.analysis.run_course import courses_over
from diskbench.analysis.steady import ROUNDS
from diskbench.model.phase import Phase, PhaseKind, StepPhases

LEVELS = frozenset({"burst", "baseline", "level"})
"""The kinds of phase that have a level."""
Share = tuple[float, float]
"""The fractions of a step's I/Os and bytes that belong to one direction or one job."""


@dataclass(frozen=True, slots=True)
class Figure:
    """I/Os and bytes per second, None if the log has no such values: the figure of a step, or of a
    part of it. `level` is the stretch that it describes if the step has several levels or settled
    at one; None: the whole step. `kind` is the kind of that stretch. `crosses`: the step's
    latencies mix both sides of a cliff and are not reported."""

    iops: float | None
    bytes_per_s: float | None
    kind: PhaseKind | None = None
    level: Phase | None = None
    crosses: bool = False


def middle(values: Sequence[float], *, worst_is_high: bool = False) -> float:
    """Return the middle value; of an even number the worse of the two in the middle: the lower one,
    or the higher for latencies and other costs. Raises ValueError without a value."""
    return values[middle_at(values, worst_is_high=worst_is_high)]


def middle_at(values: Sequence[float], *, worst_is_high: bool = False) -> int:
    """Return the index of that value; of equal values the first in sorted order."""
    if not values:
        raise ValueError("no value, so none is in the middle")
    ordered = sorted(range(len(values)), key=values.__getitem__, reverse=worst_is_high)
    return ordered[(len(ordered) - 1) // 2]


def of_rounds(values: Sequence[float], *, worst_is_high: bool = False) -> float:
    """Return the figure of a repeated step: the middle of its last five rounds."""
    return middle(values[-ROUNDS:], worst_is_high=worst_is_high)


def figure_of(
    rounds: Sequence[Figure], course: StepPhases | None = None, share: Share = (1.0, 1.0)
) -> Figure | None:
    """Return the figure of one step of one run; None if nothing is known.

    `rounds` are fio's own rates of each round, in order: of all directions together, or of one
    (then `share` is its part of the step, because phases cover all directions). `course` are the
    phases from the step's per-second values, if they were read.
    """
    counted = _counted(rounds)
    levels = levels_of(course) if course is not None else ()
    if course is None or not levels:
        if counted is None and course is not None:
            counted = _mean(course.phases)
        if counted is None:
            return None
        kinds = {phase.kind for phase in course.phases if phase.kind in LEVELS} if course else set()
        kind = kinds.pop() if len(kinds) == 1 else None
        return replace(counted, kind=kind)
    if course.rounds and course.steady.kind in LEVELS and counted is not None:
        return replace(counted, kind=course.steady.kind, level=levels[-1])
    main = levels[main_of(levels)]
    rates = of_share(Figure(main.iops, main.bytes_per_s), share, counted)
    return replace(rates, kind=main.kind, level=main, crosses=bool(course.cliffs))


def levels_of(course: StepPhases) -> tuple[Phase, ...]:
    """Return the levels of a step in order of time; none if it kept one level throughout, so that
    fio's own rate is its figure. A single level is the one it settled at after a ramp."""
    levels = _joined(course.phases)
    if len(levels) < 2 and not course.cliffs:
        kinds = [phase.kind for phase in course.phases if phase.kind != "stall"]
        return levels if "ramp" in kinds[:-1] and kinds[-1] in LEVELS else ()
    return levels or tuple(phase for phase in course.phases if phase.kind != "stall")


def main_of(levels: Sequence[Phase]) -> int:
    """Return the index of the level that gives the figure: the last baseline, else the longest."""
    baselines = [at for at, level in enumerate(levels) if level.kind == "baseline"]
    if baselines:
        return baselines[-1]
    return max(range(len(levels)), key=lambda at: levels[at].seconds)


def of_one_level(kinds: Sequence[PhaseKind | None], values: Sequence[float] = ()) -> list[int]:
    """Return the indices of the runs that a trial's figure is taken from: those at the baseline if
    there are any, else all. `kinds` are the kinds of the runs' figures; if all are None, the
    `values` of six or more runs may show the levels (analysis/run_course.py)."""
    at_baseline = [at for at, kind in enumerate(kinds) if kind == "baseline"]
    if at_baseline or not values:
        return at_baseline or list(range(len(kinds)))
    of_level = [at for at, run in enumerate(courses_over(values)) if run.kind == "baseline"]
    return of_level or list(range(len(kinds)))


def _counted(rounds: Sequence[Figure]) -> Figure | None:
    iops = [rate.iops for rate in rounds if rate.iops is not None]
    moved = [rate.bytes_per_s for rate in rounds if rate.bytes_per_s is not None]
    if not iops and not moved:
        return None
    return Figure(of_rounds(iops) if iops else None, of_rounds(moved) if moved else None)


def of_share(level: Figure, share: Share, counted: Figure | None) -> Figure:
    """Return a level's rates in one direction. If the log lacks I/Os or bytes, one is computed from
    the other with the mean I/O size that fio counted."""
    iops = level.iops * share[0] if level.iops is not None else None
    moved = level.bytes_per_s * share[1] if level.bytes_per_s is not None else None
    if counted is not None and counted.iops and counted.bytes_per_s:
        mean_bytes = counted.bytes_per_s / counted.iops
        if iops is None and moved is not None:
            iops = moved / mean_bytes
        elif moved is None and iops is not None:
            moved = iops * mean_bytes
    return Figure(iops, moved)


def _joined(phases: Sequence[Phase]) -> tuple[Phase, ...]:
    """Return the phases that have a level. Phases of one level with only a stall between them are
    joined, including the stall; a stall at either end of the step is joined, too."""
    joined: list[Phase] = []
    stalled: Phase | None = None
    for at, phase in enumerate(phases):
        if phase.kind == "stall":
            stalled = phase if stalled is None else _with(stalled, phase)
            continue
        if phase.kind in LEVELS:
            beside = bool(joined) and stalled is not None and joined[-1].end_s == stalled.start_s
            if stalled is not None and beside and _is_alike(joined[-1], phase):
                joined[-1] = _with(_with(joined[-1], stalled), phase)
            elif stalled is not None and not joined and at == 1:
                joined.append(_with(phase, stalled))
            else:
                joined.append(phase)
        stalled = None
    if stalled is not None and joined and joined[-1].end_s == stalled.start_s:
        joined[-1] = _with(joined[-1], stalled)
    return tuple(joined)


def _is_alike(before: Phase, after: Phase) -> bool:
    if before.kind != after.kind:
        return False
    pairs = ((before.iops, after.iops), (before.bytes_per_s, after.bytes_per_s))
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    return all(min(pair) >= (1 - LEAST_CHANGE) * max(pair) for pair in known)


def _with(first: Phase, second: Phase) -> Phase:
    """Join two adjacent stretches into one of the first one's kind, with the mean of both."""
    mean = _mean((first, second))
    return Phase(
        kind=first.kind,
        start_s=min(first.start_s, second.start_s),
        end_s=max(first.end_s, second.end_s),
        iops=mean.iops if mean else None,
        bytes_per_s=mean.bytes_per_s if mean else None,
    )


def _mean(parts: Sequence[Phase]) -> Figure | None:
    """Return the mean over all seconds of the parts; None if none of them has a rate."""

    def of(values: Sequence[float | None]) -> float | None:
        weighted = [(v, p.seconds) for v, p in zip(values, parts, strict=True) if v is not None]
        seconds = math.fsum(part_s for _, part_s in weighted)
        return math.fsum(v * part_s for v, part_s in weighted) / seconds if seconds else None

    mean = Figure(of([part.iops for part in parts]), of([part.bytes_per_s for part in parts]))
    return None if mean.iops is None and mean.bytes_per_s is None else mean
