"""The seconds of many runs of a step at once, and which runs are worth a picture of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from diskbench.report.assemble.course import StepCourse

MOST_STRETCHES = 100
MOST_CELLS = 12_000
"""Of one picture: more make it heavier than what they show. Our choice."""
MOST_TELLING = 6


@dataclass(frozen=True)
class Band:
    """One run of a step: the I/Os of each second (bytes where its logs tell no I/Os), its median
    second, when it fell (None: it did not), and its stalls as (start, seconds)."""

    run_id: str
    step: str
    figure: Literal["iops", "bytes_per_s"]
    values: NDArray[np.float32]
    median: float
    fell_s: float | None = None
    stalls: tuple[tuple[float, float], ...] = ()

    @property
    def stalled_s(self) -> float:
        """How long it stalled in all."""
        return sum(seconds for _, seconds in self.stalls)

    @property
    def seconds(self) -> int:
        """How long it is."""
        return int(self.values.size)


@dataclass(frozen=True)
class Span:
    """Stretches of run `row` (from 0) beside each other that have the same step of `heat`."""

    row: int
    start_s: float
    end_s: float
    heat: int


@dataclass(frozen=True)
class Telling:
    """A run that stands out, and why in words."""

    run_id: str
    why: str


def band(course: StepCourse) -> Band:
    """The band of a course."""
    import numpy as np

    figure: Literal["iops", "bytes_per_s"]
    figure = "iops" if course.total("iops").any() else "bytes_per_s"
    values = course.total(figure)
    phases = course.phases
    return Band(
        run_id=course.run_id,
        step=course.step,
        figure=figure,
        values=values.astype(np.float32),
        median=float(np.median(values)),
        fell_s=phases.cliffs[0].at_s if phases and phases.cliffs else None,
        stalls=tuple((one.start_s, one.seconds) for one in phases.stalls) if phases else (),
    )


def by_step(bands: Iterable[Band]) -> tuple[tuple[Band, ...], ...]:
    """The bands of each step of which there are two or more, the commonest step first."""
    found: dict[tuple[str, str], list[Band]] = {}
    for one in bands:
        found.setdefault((one.step, one.figure), []).append(one)
    several = [tuple(group) for group in found.values() if len(group) > 1]
    return tuple(sorted(several, key=len, reverse=True))


def spans(
    bands: Sequence[Band], bounds: Sequence[float], *, most: int = MOST_STRETCHES
) -> tuple[Span, ...]:
    """Each run in stretches of equal length, those of one step of heat joined.

    `bounds` are where the steps of heat end. Stretches grow until there are few enough spans.
    """
    found: list[Span] = []
    count = most
    while count >= 1:
        width = stretch_s(bands, count)
        found = [span for row, one in enumerate(bands) for span in _spans(row, one, width, bounds)]
        if len(found) <= MOST_CELLS:
            break
        count //= 2
    return tuple(found)


def stretch_s(bands: Sequence[Band], count: int = MOST_STRETCHES) -> int:
    """How long a stretch is for `count` of them in the longest run."""
    return -(-max((one.seconds for one in bands), default=1) // count)


def means(one: Band, width: int) -> NDArray[np.float64]:
    """The mean of each stretch of `width` seconds."""
    import numpy as np

    starts = np.arange(0, one.seconds, width)
    sums = np.add.reduceat(one.values.astype(np.float64), starts)
    lengths = np.diff(np.append(starts, one.seconds))
    return np.asarray(sums / lengths)


def _spans(row: int, one: Band, width: int, bounds: Sequence[float]) -> list[Span]:
    import numpy as np

    heats = np.searchsorted(np.asarray(bounds), means(one, width), side="right").tolist()
    found, at = [], 0
    for heat, same in groupby(heats):
        count = len(list(same))
        end = min((at + count) * width, one.seconds)
        found.append(Span(row, at * width, end, heat))
        at += count
    return found


def telling(bands: Sequence[Band], most: int = MOST_TELLING) -> tuple[Telling, ...]:
    """At most so many runs that show what there is: the one in the middle, the lowest, the highest,
    the first and the last to fall, the one that stalled longest. A run is told once."""
    if not bands:
        return ()
    ordered = sorted(bands, key=lambda one: one.median)
    fell = sorted(
        (one for one in bands if one.fell_s is not None), key=lambda one: one.fell_s or 0.0
    )
    stalled = [one for one in bands if one.stalled_s]
    count = f"of {len(bands):,} runs"
    asked = [
        (ordered[len(ordered) // 2], f"the middle {count}"),
        (ordered[0], f"the lowest {count}"),
        (ordered[-1], f"the highest {count}"),
    ]
    if fell:
        asked += [(fell[0], f"the first to fall {count}"), (fell[-1], f"the last to fall {count}")]
    if stalled:
        longest = max(stalled, key=lambda one: one.stalled_s)
        asked.append((longest, f"the longest stall {count}"))
    found: dict[str, Telling] = {}
    for one, why in asked:
        found.setdefault(one.run_id, Telling(one.run_id, why))
    return tuple(found.values())[:most]
