"""The phases of a step: its levels, which of them lasts, and where the rate fell (MR-3, MR-4;
docs/METHOD.md, "Phases and cliffs").

Two levels with a sharp change between them are adjacent parts; if the change is gradual, the part
between the flat ends is a ramp. A dip that recovers shows no bucket, since none refills under full
load. Phases are found by their level but reported by their mean: every second counts, but for up to
three beside a sharp change that lie nearer to the other level.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from diskbench.analysis.changes import LEAST_CHANGE, SHORTEST_S, changes
from diskbench.analysis.run_course import SeriesPart
from diskbench.analysis.segmentation import Floats
from diskbench.analysis.stalls import LEAST_MISSED, RARE, STALLED, filled, longest, stalls
from diskbench.analysis.steady import last_rounds
from diskbench.analysis.time_share import kept_seconds
from diskbench.analysis.unsteady import with_unsteady
from diskbench.model.expectation import Expectation
from diskbench.model.phase import Cliff, Phase, PhaseKind, Stall, StepPhases

_EDGE_S = 3
_OWN_SIDE = 0.2
"""Of the way to the other level, or of its own: a second beyond that belongs to the change. A
second of which a tenth was burst is far from a low level, and still next to it."""
_BINS_A_MINUTE = 6
_LEAST_BINS = 12
"""Two minutes: the least that a level is called flat by."""
_Q90 = 1.2816
"""Normal quantile of 0.90."""
_INFLOW = 1.2
"""Of what flowed in: so much may have been spent, because levels and times are not exact."""
_NEAR_LIMIT = 0.1


def step_phases(
    iops: Floats,
    bytes_per_s: Floats,
    *,
    expected: Expectation | None = None,
    shortest_s: int = SHORTEST_S,
) -> StepPhases:
    """Return the phases of a step from one value per second, summed over directions.

    The series of bytes is used if there are no I/Os. The last second is usually incomplete: it
    belongs to the last phase but is not counted. `shortest_s` scales all durations in proportion,
    including the rounds of the steady state, for disks whose credit was scaled down.
    """
    use_bytes = not iops.any() and bool(bytes_per_s.any())
    figure = bytes_per_s if use_bytes else iops
    values = figure[:-1] if figure.size > 1 else figure
    parts = _parts_with_kinds(parts_of(values, shortest_s), expected, use_bytes=use_bytes)
    spans = [_inside(at, parts, values) for at in range(len(parts))]
    phases = tuple(
        _phase(part, span, iops, bytes_per_s, figure.size).model_copy(
            update={"cov": _cov(part, span, values, shortest_s)}
        )
        for part, span in zip(parts, spans, strict=True)
    )
    stalls = _stalls(parts, values, figure.size, 0.0 if use_bytes else LEAST_MISSED)
    course = StepPhases(
        figure="bytes_per_s" if use_bytes else "iops",
        seconds=float(figure.size),
        shortest_s=float(shortest_s),
        phases=phases,
        cliffs=_cliffs(parts, values),
        stalls=stalls,
        steady=last_rounds(values.tolist(), phases, stalls, round_s=shortest_s),
    )
    kept = None
    if expected is not None and expected.lasting.limited_by not in (None, "latency"):
        factor = expected.load.block_bytes if use_bytes else 1
        kept = kept_seconds(values, expected.lasting.iops * factor)
    return with_unsteady(course, values).model_copy(update={"kept": kept})


def _parts_with_kinds(
    parts: Sequence[SeriesPart], expected: Expectation | None, *, use_bytes: bool
) -> list[SeriesPart]:
    """Return the parts with the kinds of their levels."""
    if expected is not None and expected.lasting.limited_by is None:
        expected = None
    factor = expected.load.block_bytes if use_bytes and expected is not None else 1
    lasting = expected.lasting_up_to * factor if expected is not None else None
    bases = [parts[at].level for at in _bases(parts)]

    def name(part: SeriesPart) -> PhaseKind:
        if lasting is not None and part.level <= lasting:
            return "baseline"
        is_base, iops = _has(bases, part.level), part.level / factor
        if expected is not None and expected.bursts:
            # one of two buckets is empty where a limit other than the lasting one holds the rate
            limits = (*expected.begin.bounds, *expected.lasting.bounds)
            if not is_base or any(abs(iops / b.iops - 1) <= _NEAR_LIMIT for b in limits):
                return "burst"
        if is_base:
            return "baseline"
        # A fall that lasts shows a bucket, whether or not one is documented.
        is_burst = any(part.level > base / (1 - LEAST_CHANGE) for base in bases)
        return "burst" if is_burst else "level"

    return [replace(part, kind=name(part)) if part.kind == "level" else part for part in parts]


def _bases(parts: Sequence[SeriesPart]) -> list[int]:
    """Return the indices of the levels that lasted after a sharp fall: the last one under each
    load. Under load a bucket does not refill; in a pause it gains what is done at that level in the
    same time, and a rise that spends more was none of a bucket's."""
    bases: list[int] = []
    fell = False
    before: SeriesPart | None = None
    for at, part in enumerate(parts):
        following = parts[at + 1] if at + 1 < len(parts) else None
        if part.kind == "level":
            fell = fell or (before is not None and _falls(before, part))
            before = part
        if following is not None and following.kind != "stall":
            continue
        highest = max((p.level for p in parts[:at] if p.kind == "level"), default=0.0)
        is_low = part.kind == "level" and part.level <= (1 - LEAST_CHANGE) * highest
        if fell and is_low and _regained(part.level, parts[at + 1 :]):
            bases.append(at)
    return bases


def _regained(base: float, later: Sequence[SeriesPart]) -> bool:
    """Whether what was done above a level later is no more than what flowed in in the pauses."""
    gained = 0.0
    for part in later:
        seconds = part.end - part.start
        if part.kind == "stall":
            gained += base * seconds
        elif part.level > base / (1 - LEAST_CHANGE):
            gained -= (part.level - base) * seconds / _INFLOW
        if gained < 0:
            return False
    return True


def _has(bases: Sequence[float], level: float) -> bool:
    """Whether a level lies within 20 % of one of these."""
    return any((1 - LEAST_CHANGE) * base <= level <= base / (1 - LEAST_CHANGE) for base in bases)


def _falls(before: SeriesPart, after: SeriesPart) -> bool:
    return after.sharp and after.level <= (1 - LEAST_CHANGE) * before.level


def _cliffs(parts: Sequence[SeriesPart], values: Floats) -> tuple[Cliff, ...]:
    """Return the sharp falls; stalls between two levels are skipped."""
    moving = [part for part in parts if part.kind != "stall"]
    return tuple(
        Cliff(
            at_s=float(after.start),
            before=level_of(values[before.start : before.end]),
            after=(level := level_of(values[after.start : after.end])),
            credits=max(0.0, float((values[: after.start] - level).sum())),
        )
        for before, after in pairwise(moving)
        if _falls(before, after) and after.kind != "ramp" and before.kind != "ramp"
    )


def _stalls(
    parts: Sequence[SeriesPart], values: Floats, seconds: int, missed: float
) -> tuple[Stall, ...]:
    """Stalls within each phase, by its own median, and phases that are stalls, joined."""
    stretches: list[tuple[int, int]] = []
    for part in parts:
        if part.kind == "stall":
            runs: tuple[tuple[int, int], ...] = ((part.start, part.end),)
        else:
            of_part = values[part.start : part.end]
            within = stalls(of_part, missed=missed, is_moving=part.kind == "ramp")
            runs = tuple((part.start + a, part.start + b) for a, b in within)
        for start, end in runs:
            if stretches and stretches[-1][1] >= start:
                start = stretches.pop()[0]
            # What stalls up to the end does so in the last second, too.
            is_last = part.kind == "stall" and end == values.size
            stretches.append((start, seconds if is_last else end))
    return tuple(
        Stall(start_s=start, end_s=end, is_empty=not values[start:end].any())
        for start, end in stretches
    )


def _inside(at: int, parts: Sequence[SeriesPart], values: Floats) -> slice:
    """The seconds that a part's figures are means of: all but those of a sharp change at an end."""
    part = parts[at]
    start, end = part.start, part.end
    if at and part.sharp:
        level = parts[at - 1].level
        for second in range(part.start, min(part.start + _EDGE_S, end - _EDGE_S)):
            start = second + 1 if _is_of_change(values[second], part.level, level) else start
    if at + 1 < len(parts) and parts[at + 1].sharp:
        level = parts[at + 1].level
        for second in range(part.end - 1, max(part.end - 1 - _EDGE_S, start + _EDGE_S), -1):
            end = second if _is_of_change(values[second], part.level, level) else end
    return slice(start, end)


def _is_of_change(value: float, own: float, beside: float) -> bool:
    return (value - own) * (1 if beside > own else -1) > _OWN_SIDE * min(abs(beside - own), own)


def _phase(part: SeriesPart, span: slice, iops: Floats, bytes_per_s: Floats, seconds: int) -> Phase:
    end = seconds if part.end == seconds - 1 else part.end
    ramp = part.kind == "ramp" and iops.any()
    few = max(1, min(10, (part.end - part.start) // 4))
    return Phase(
        kind=part.kind,
        start_s=part.start,
        end_s=end,
        iops=float(iops[span].mean()) if iops.any() else None,
        bytes_per_s=float(bytes_per_s[span].mean()) if bytes_per_s.any() else None,
        from_iops=level_of(iops[part.start : part.start + few]) if ramp else None,
        to_iops=level_of(iops[part.end - few : part.end]) if ramp else None,
    )


def _cov(part: SeriesPart, span: slice, values: Floats, shortest_s: int) -> float | None:
    """Return how much means of ten seconds vary (scaled as all durations are), robustly."""
    width = max(1, shortest_s // _BINS_A_MINUTE)
    many = (span.stop - span.start) // width
    if part.kind in ("ramp", "stall") or many < _LEAST_BINS:
        return None
    means = values[span.start : span.start + many * width].reshape(many, width).mean(axis=1)
    low, middle, high = np.quantile(means, [0.1, 0.5, 0.9])
    return float((high - low) / (2 * _Q90) / middle) if middle > 0 else None


_FLAT = 0.10
_NOTHING = 0.01
"""Of the highest level: a phase below it at either end is a stall, too."""
_MOSTLY = 0.75
"""Of a part: so much of it in one pause is no level; our choice."""
_SETTLED_S = 60
_CORRELATED_S = 10
_TRIMMED = 0.1
"""Of each side: outliers do not make a level, and two values in turn have their mean."""


def parts_of(values: Floats, shortest_s: int) -> list[SeriesPart]:
    """Return levels, ramps and stalls in order."""
    if not values.size:
        return []
    if values.size < 2 * shortest_s:  # no room for two phases; spares importing what finds them
        single = SeriesPart(0, values.size, level_of(values), sharp=True)
        return [replace(single, kind="stall" if single.level <= 0 else "level")]
    smooth = filled(values, longest_s=shortest_s)
    starts = [(0, True), *changes(smooth, shortest_s=shortest_s)]
    ends = [*(begin for begin, _ in starts[1:]), values.size]
    parts = [
        SeriesPart(begin, end, level_of(values[begin:end]), sharp=sharp)
        for (begin, sharp), end in zip(starts, ends, strict=True)
    ]
    still = [_is_stall(n, parts) or _is_one_pause(n, parts, values) for n in range(len(parts))]
    marked = zip(parts, still, strict=True)
    parts = [replace(part, kind="stall") if is_still else part for part, is_still in marked]
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
    next_to_none = _NOTHING * max(neighbour.level for neighbour in around)
    nothing = values[part.start : part.end] <= next_to_none
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
    sharp = not head and chain[0].sharp
    ramp = SeriesPart(start, end, level_of(values[start:end]), kind="ramp", sharp=sharp)
    if end == chain[-1].end:
        return [*head, ramp]
    settled = level_of(values[end : chain[-1].end])
    return [*head, ramp, SeriesPart(end, chain[-1].end, settled)]


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
    third = max(1, values.size // 3)
    sides = (values[:third], values[-third:])
    many = third // _CORRELATED_S
    if many < 2:
        return float("inf")
    means = [side[: many * _CORRELATED_S].reshape(many, -1).mean(axis=1) for side in sides]
    error = float(np.sqrt(sum(mean.var(ddof=1) / many for mean in means)))
    return abs(_median(sides[1]) - _median(sides[0])) + 2 * error


def _drift(values: Floats) -> float:
    """Return the difference of the medians of the first and last third, over the median."""
    third = max(1, values.size // 3)
    middle = _median(values)
    moved = abs(_median(values[-third:]) - _median(values[:third]))
    return moved / middle if middle > 0 else 0.0


def _median(values: Floats) -> float:
    return float(np.median(values))


def level_of(values: Floats) -> float:
    """Return the mean without stalls and without the highest and lowest tenth of the rest; the mean
    of all seconds if stalls are frequent, because I/O in batches has no other level."""
    middle = float(np.median(values))
    moving = values[values >= STALLED * middle]
    if middle <= 0 or moving.size < (1 - RARE) * values.size:
        return float(values.mean())
    ordered = np.sort(moving)
    cut = int(_TRIMMED * ordered.size)
    return float(ordered[cut : ordered.size - cut].mean())
