"""The levels, ramps and stalls that a step's seconds consist of, before they have a kind.

Changes come from analysis/changes.py. Two levels with a sharp change between them are adjacent
parts; if the change is gradual, the part between the flat ends is a ramp. A level is flat if the
medians of its first and last third differ by at most a tenth. Thresholds are our choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from diskbench.analysis.changes import LEAST_CHANGE, Change, changes
from diskbench.analysis.stalls import RARE, STALLED, filled, longest
from diskbench.model.phase import PhaseKind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_FLAT = 0.10
_NOTHING = 0.01
"""Of the highest level: a phase below it at either end is a stall, too."""
_MOSTLY = 0.75
"""Of a part: so much of it in one pause is no level; our choice."""
_SETTLED_S = 60
_CORRELATED_S = 10
_TRIMMED = 0.1
"""Of each side: outliers do not make a level, and two values in turn have their mean."""


@dataclass(frozen=True, slots=True)
class SeriesPart:
    """Seconds [start, end) with one level; `sharp`: it begins with a sharp change."""

    start: int
    end: int
    level: float
    sharp: bool
    kind: PhaseKind = "level"


def parts_of(values: Floats, shortest_s: int) -> list[SeriesPart]:
    """Return levels, ramps and stalls in order."""
    if not values.size:
        return []
    if values.size < 2 * shortest_s:  # no room for two phases; spares importing what finds them
        single = SeriesPart(0, values.size, level_of(values), sharp=True)
        return [replace(single, kind="stall" if single.level <= 0 else "level")]
    smooth = filled(values, longest_s=shortest_s)
    starts = [Change(0, sharp=True), *changes(smooth, shortest_s=shortest_s)]
    ends = [*(change.at for change in starts[1:]), values.size]
    parts = [
        SeriesPart(change.at, end, level_of(values[change.at : end]), change.sharp)
        for change, end in zip(starts, ends, strict=True)
    ]
    parts = [
        replace(part, kind="stall")
        if _is_stall(at, parts) or _is_one_pause(at, parts, values)
        else part
        for at, part in enumerate(parts)
    ]
    return [part for chain in _chains(parts) for part in _ramped(chain, smooth)]


def _is_stall(index: int, parts: Sequence[SeriesPart]) -> bool:
    """Whether a part is below a tenth of both neighbours and is not the final level of the step, or
    is near zero anywhere."""
    level, last = parts[index].level, parts[-1].level
    highest = max(part.level for part in parts)
    if level <= _NOTHING * highest:
        return True
    if index in (0, len(parts) - 1):
        return False
    if last > 0 and (1 - LEAST_CHANGE) <= level / last <= 1 / (1 - LEAST_CHANGE):
        return False
    return level < STALLED * min(parts[index - 1].level, parts[index + 1].level)


def _is_one_pause(index: int, parts: Sequence[SeriesPart], values: Floats) -> bool:
    """Whether one pause fills most of a part whose cut missed its ends by seconds. A disk that
    serves I/O in batches has many short ones."""
    part, around = parts[index], [*parts[max(0, index - 1) : index], *parts[index + 1 : index + 2]]
    if not around:
        return False
    nothing = values[part.start : part.end] <= _NOTHING * max(
        neighbour.level for neighbour in around
    )
    return longest(nothing) >= _MOSTLY * (part.end - part.start)


def _chains(parts: Sequence[SeriesPart]) -> list[list[SeriesPart]]:
    """Group parts that change gradually into each other."""
    chains: list[list[SeriesPart]] = []
    for part in parts:
        alone = part.sharp or part.kind == "stall" or (chains and chains[-1][-1].kind == "stall")
        if alone or not chains:
            chains.append([part])
        else:
            chains[-1].append(part)
    return chains


def _ramped(chain: Sequence[SeriesPart], values: Floats) -> list[SeriesPart]:
    """Return a chain as a level, a ramp and a level; the levels only if they are flat."""
    if len(chain) == 1:
        return list(chain)
    start = chain[0].end if _drift(values[chain[0].start : chain[0].end]) <= _FLAT else 0
    start = start or chain[0].start
    end = _settled(chain, values, start)
    if start >= end:  # two flat levels, and all of the change within a minute between them
        return list(chain)
    head = [chain[0]] if start == chain[0].end else []
    ramp = SeriesPart(
        start, end, level_of(values[start:end]), not head and chain[0].sharp, kind="ramp"
    )
    if end == chain[-1].end:
        return [*head, ramp]
    return [
        *head,
        ramp,
        SeriesPart(end, chain[-1].end, level_of(values[end : chain[-1].end]), sharp=False),
    ]


def _settled(chain: Sequence[SeriesPart], values: Floats, start: int) -> int:
    """Return where the final level of a gradual change begins: from there the rate is flat and
    moves at most a quarter as fast as before, allowing for noise; the end of the chain if never."""
    last = chain[-1]
    for begin in range(last.start, last.end - _SETTLED_S, _SETTLED_S // 2):
        tail, ramp = values[begin : last.end], values[start:begin]
        if _drift(tail) > _FLAT:
            continue
        if not ramp.size:
            return begin
        moved = abs(_median(ramp[:_SETTLED_S]) - _median(tail)) / ramp.size
        # The middles of the first and the last third lie two thirds of the tail apart.
        if _most_moved(tail) <= moved / 4 * (2 / 3 * tail.size):
            return begin
    return last.end


def _most_moved(values: Floats) -> float:
    """Return the largest plausible difference of the first and last third, with two standard
    errors; these are of means of ten seconds, because neighbouring seconds correlate."""
    import numpy as np

    third = max(1, values.size // 3)
    sides = (values[:third], values[-third:])
    many = third // _CORRELATED_S
    if many < 2:
        return float("inf")
    means = [side[: many * _CORRELATED_S].reshape(many, -1).mean(axis=1) for side in sides]
    error = float(np.sqrt(sum(mean.var(ddof=1) / many for mean in means)))
    return abs(_median(sides[1]) - _median(sides[0])) + 2 * error


def _drift(values: Floats) -> float:
    """Return the difference of the medians of the first and last third as a fraction of the
    median."""
    third = max(1, values.size // 3)
    middle = _median(values)
    moved = abs(_median(values[-third:]) - _median(values[:third]))
    return moved / middle if middle > 0 else 0.0


def _median(values: Floats) -> float:
    import numpy as np

    return float(np.median(values))


def level_of(values: Floats) -> float:
    """Return the mean without stalls and without the highest and lowest tenth of the rest; the mean
    of all seconds if stalls are frequent, because I/O in batches has no other level."""
    import numpy as np

    middle = float(np.median(values))
    moving = values[values >= STALLED * middle]
    if middle <= 0 or moving.size < (1 - RARE) * values.size:
        return float(values.mean())
    ordered = np.sort(moving)
    cut = int(_TRIMMED * ordered.size)
    return float(ordered[cut : ordered.size - cut].mean())
