"""The seconds of many runs of a step at once, and the runs that deserve a chart of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from diskbench.report.assemble.course import StepCourse

MOST_STRETCHES = 100
MOST_CELLS = 12_000
"""The most cells of one chart: more enlarge the file without showing more. Our choice."""
MOST_TELLING = 6


@dataclass(frozen=True)
class Band:
    """One run of a step: the I/Os of each second (bytes if its logs have no I/Os), its median
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
        """The total stalled time in seconds."""
        return sum(seconds for _, seconds in self.stalls)

    @property
    def seconds(self) -> int:
        """The length in seconds."""
        return int(self.values.size)


@dataclass(frozen=True)
class Span:
    """Adjacent stretches of run `row` (from 0) with the same step of `heat`."""

    row: int
    start_s: float
    end_s: float
    heat: int


@dataclass(frozen=True)
class Telling:
    """A run that stands out, and the reason as text."""

    run_id: str
    why: str


def band(course: StepCourse) -> Band:
    """The band of a course."""
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
        stalls=tuple((stall.start_s, stall.seconds) for stall in phases.stalls) if phases else (),
    )


def by_step(bands: Iterable[Band]) -> tuple[tuple[Band, ...], ...]:
    """The bands of each step that has two or more, the most common step first."""
    groups: dict[tuple[str, str], list[Band]] = {}
    for band in bands:
        groups.setdefault((band.step, band.figure), []).append(band)
    several = [tuple(group) for group in groups.values() if len(group) > 1]
    return tuple(sorted(several, key=len, reverse=True))


def spans(
    bands: Sequence[Band], bounds: Sequence[float], *, most: int = MOST_STRETCHES
) -> tuple[Span, ...]:
    """Each run in stretches of equal length; adjacent stretches of one step of heat are merged.

    `bounds` are the upper bounds of the steps of heat. Stretches grow until the number of spans is
    within the limit.
    """
    joined: list[Span] = []
    count = most
    while count >= 1:
        width = stretch_s(bands, count)
        joined = [
            span for row, band in enumerate(bands) for span in _spans(row, band, width, bounds)
        ]
        if len(joined) <= MOST_CELLS:
            break
        count //= 2
    return tuple(joined)


def stretch_s(bands: Sequence[Band], count: int = MOST_STRETCHES) -> int:
    """The length of a stretch in seconds if the longest run has `count` of them."""
    return -(-max((band.seconds for band in bands), default=1) // count)


def means(band: Band, width: int) -> NDArray[np.float64]:
    """The mean of each stretch of `width` seconds."""
    starts = np.arange(0, band.seconds, width)
    sums = np.add.reduceat(band.values.astype(np.float64), starts)
    lengths = np.diff(np.append(starts, band.seconds))
    return np.asarray(sums / lengths)


def _spans(row: int, band: Band, width: int, bounds: Sequence[float]) -> list[Span]:
    heats = np.searchsorted(np.asarray(bounds), means(band, width), side="right").tolist()
    joined, at = [], 0
    for heat, same in groupby(heats):
        count = len(list(same))
        end = min((at + count) * width, band.seconds)
        joined.append(Span(row, at * width, end, heat))
        at += count
    return joined


def telling(bands: Sequence[Band], most: int = MOST_TELLING) -> tuple[Telling, ...]:
    """At most `most` representative runs: the median, the lowest, the highest, the first and the
    last to fall, and the one that stalled longest. No run appears twice."""
    if not bands:
        return ()
    ordered = sorted(bands, key=lambda band: band.median)
    fell = sorted(
        (band for band in bands if band.fell_s is not None), key=lambda band: band.fell_s or 0.0
    )
    stalled = [band for band in bands if band.stalled_s]
    count = f"of {len(bands):,} runs"
    asked = [
        (ordered[len(ordered) // 2], f"the middle {count}"),
        (ordered[0], f"the lowest {count}"),
        (ordered[-1], f"the highest {count}"),
    ]
    if fell:
        asked += [(fell[0], f"the first to fall {count}"), (fell[-1], f"the last to fall {count}")]
    if stalled:
        longest = max(stalled, key=lambda band: band.stalled_s)
        asked.append((longest, f"the longest stall {count}"))
    chosen: dict[str, Telling] = {}
    for telling_run, why in asked:
        chosen.setdefault(telling_run.run_id, Telling(telling_run.run_id, why))
    return tuple(chosen.values())[:most]
