"""The figures of a step second by second, beside its expectation, and the seconds of many runs of a
step at once: data for charts, on the clock of the phases (store/phases.py). The final second of a
step is seldom complete, and I/O in flight completes in it: longer steps leave it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from diskbench.model.expectation import Expectation
from diskbench.model.phase import StepPhases
from diskbench.model.spec import Plan
from diskbench.parallel import grouped

Floats = NDArray[np.float64]

if TYPE_CHECKING:
    import polars as pl

_ORDER = ("read", "write", "trim")
_LONG_S = 10


@dataclass(frozen=True)
class StepCourse:
    """One step of one run; `run` is the number of the run in its trial, from 1. `rounds` are the
    seconds at which its rounds begin, empty if it is not repeated. `predicted` is the second of the
    step at which its credit is expected to be used up, with the earliest and the latest, which
    differ if it depends on the request sizes.

    `tracks` are a value per second by direction and figure, NaN if the logs have none; directions
    without I/O are left out. Latencies in ns: mean, quantiles and maximum of the I/Os of a second.
    """

    run_id: str
    run: int
    step: str
    step_index: int
    seconds: int
    tracks: Mapping[str, Mapping[str, Floats]]
    rounds: tuple[int, ...] = ()
    phases: StepPhases | None = None
    expected: Expectation | None = None
    predicted: tuple[float, float, float] | None = None

    def total(self, figure: str) -> Floats:
        """The sum of a rate over all directions; unknown values count as 0."""
        total = np.zeros(self.seconds)
        for track in self.tracks.values():
            total += np.nan_to_num(track[figure])
        return total


def courses(
    series: pl.DataFrame,
    phases: Sequence[StepPhases] = (),
    plan: Plan | None = None,
    *,
    run: int = 1,
    expectations: Mapping[int, Expectation] | None = None,
    is_selected: Callable[[str], bool] = lambda _: True,
) -> tuple[StepCourse, ...]:
    """The courses of one run's steps in order, from its series (`load_series`).

    The expectation follows from the run's `plan` and its number `run` in the trial; for an imported
    run it is given in `expectations`, by step index. Only steps whose names `is_selected`
    accepts are returned.
    Steps of one second or less have no course.
    """
    if not series.height:
        return ()
    by_index = {phase.step_index: phase for phase in phases}
    ordered = series.sort("step_index", maintain_order=True)
    steps = []
    for rows in grouped(ordered.partition_by("step_index", maintain_order=True), _step).values():
        first = rows[0]
        name, index = str(first["step"][0]), int(first["step_index"][0])
        if not is_selected(name):
            continue
        tracks, rounds, seconds = _tracks(rows)
        if seconds < 2 or not tracks:
            continue
        of_round = first["round"][0]
        probes = (
            plan.search.steps if plan and plan.search else ()
        )  # their rates follow from results
        foreseen = plan if name not in probes else None
        expected = foreseen.expected_of(index, of_round=of_round, run=run) if foreseen else None
        expected = expected or (expectations or {}).get(index)
        predicted = _predicted(plan, expected, index, run, seconds)
        begins, of = rounds if of_round is not None else (), by_index.get(index)
        steps.append(
            StepCourse(str(first["run_id"][0]), run, name, index, seconds, tracks, begins, of,
                       expected, predicted)
        )  # fmt: skip
    return tuple(steps)


def _step(frame: pl.DataFrame) -> tuple[str, int | None]:
    """What the frames of one step share: a step of rounds has one for each of them."""
    index = int(frame["step_index"][0]) if frame["round"][0] is None else None
    return str(frame["step"][0]), index


def _tracks(
    rounds: Sequence[pl.DataFrame],
) -> tuple[dict[str, dict[str, Floats]], tuple[int, ...], int]:
    """The tracks by direction, the seconds at which the rounds begin, and the total seconds; the
    last second is left out if enough remain."""
    import polars as pl

    parts, starts, size = [], [], 0
    for number, rows in enumerate(rounds, 1):
        starts.append(size)
        place = pl.col("second") - rows["second"].min()
        span_s = int(rows.select(place.max()).item()) + 1
        size += span_s if number == len(rounds) else span_s - 1
        parts.append(rows.with_columns(place=place + starts[-1]).filter(pl.col("place") < size))
    seconds = size - 1 if size >= _LONG_S else size
    by_direction = pl.concat(parts).partition_by("direction", as_dict=True)
    tracks = {}
    for direction in _ORDER:
        values = {name: np.full(size, np.nan) for name in _COLUMNS}
        if (mine := by_direction.get((direction,))) is not None:
            places = mine["place"].to_numpy()
            for name, column in _COLUMNS.items():
                if column in mine.columns:
                    values[name][places] = mine[column].cast(pl.Float64).to_numpy()
        rates = np.concatenate((values["iops"], values["bytes_per_s"], values["mean_ns"]))
        if np.nan_to_num(rates).any():
            tracks[direction] = {name: of[:seconds] for name, of in values.items()}
    return tracks, tuple(starts), seconds


_COLUMNS = {
    "iops": "iops", "bytes_per_s": "bytes_per_s", "mean_ns": "lat_mean_ns", "p50_ns": "p50_ns",
    "p99_ns": "p99_ns", "max_ns": "lat_max_ns",
}  # fmt: skip
"""Figure of a track → column of the series."""


def _predicted(
    plan: Plan | None, expected: Expectation | None, index: int, run: int, seconds: int
) -> tuple[float, float, float] | None:
    """When credit should run out within a step: from the simulation of the whole run, else from the
    step's own load."""
    if expected is None or not expected.bursts:
        return None
    foreseen = plan.expectation if plan else None
    step = foreseen.step(plan.place_of(index), run) if plan and foreseen else None
    gone = [
        (at, at if credit.earliest_s is None else credit.earliest_s,
         at if credit.latest_s is None else credit.latest_s)
        for credit in (foreseen.credits if step and foreseen else ())
        if (at := credit.gone_s) is not None and (credit.run or 1) == run
        and step and credit.step == step.name
    ]  # fmt: skip
    if step is not None and gone:
        at, early, late = (when - step.start_s for when in min(gone, key=itemgetter(0)))
    elif expected.lasts_s is not None:
        at = early = late = expected.lasts_s
    else:
        return None
    return (at, max(early, 0.0), late) if 0 < at <= seconds else None


MOST_POINTS = 600
"""Points for a line of 300 pixels at double pixel density. Our choice."""
STALLED = 0.01
"""Share of the median of the active seconds: a second below it counts as stalled."""


def kept(values: Floats, n_out: int = MOST_POINTS) -> NDArray[np.int64]:
    """The indices of at most `n_out` values (four or more) that represent the series, ascending,
    with the first and the last.

    Of each of n_out / 2 equal parts the lowest and the highest are kept: one second of a day that
    fell or rose is seen. NaN marks a second without data, which a thinned series lacks.
    """
    known = np.flatnonzero(~np.isnan(values))
    if known.size <= n_out:
        return known
    parts = (n_out - 2) // 2
    ends = (np.arange(1, parts + 1) * ((known.size - 1) / parts)).astype(np.int64) + 1
    found = {0, known.size - 1}
    for start, part in zip([0, *ends], np.split(values[known], ends), strict=True):
        if part.size:
            found |= {start + int(part.argmin()), start + int(part.argmax())}
    return np.asarray(known[sorted(found)])


def stalled(values: Floats) -> NDArray[np.bool_]:
    """Whether each second did almost nothing, relative to the median of the active seconds."""
    moving = values[values > 0]
    least = STALLED * float(np.median(moving)) if moving.size else -np.inf
    return np.asarray(values <= least, dtype=np.bool_)


MOST_STRETCHES = 100
MOST_CELLS = 12_000
"""The most cells of one chart: more enlarge the file without showing more. Our choice."""


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
        return sum(seconds for _, seconds in self.stalls)

    @property
    def seconds(self) -> int:
        return int(self.values.size)


def band(course: StepCourse) -> Band:
    """The band of a course."""
    figure: Literal["iops", "bytes_per_s"]
    figure = "iops" if course.total("iops").any() else "bytes_per_s"
    values, phases = course.total(figure), course.phases
    fell_s = phases.cliffs[0].at_s if phases and phases.cliffs else None
    stalls = tuple((stall.start_s, stall.seconds) for stall in phases.stalls) if phases else ()
    drawn, median = values.astype(np.float32), float(np.median(values))
    return Band(course.run_id, course.step, figure, drawn, median, fell_s, stalls)


def by_step(bands: Iterable[Band]) -> tuple[tuple[Band, ...], ...]:
    """The bands of each step that has two or more, the most common step first."""
    groups = grouped(bands, lambda band: (band.step, band.figure))
    several = [tuple(group) for group in groups.values() if len(group) > 1]
    return tuple(sorted(several, key=len, reverse=True))


def spans(bands: Sequence[Band], bounds: Sequence[float]) -> list[tuple[int, int, int, int]]:
    """Each run in stretches of equal length: its row (from 0), start and end in seconds, and step
    of heat; adjacent stretches of one step are merged.

    `bounds` are the upper bounds of the steps of heat. Stretches grow until the number of spans is
    within the limit.
    """
    joined: list[tuple[int, int, int, int]] = []
    count = MOST_STRETCHES
    while count and (not joined or len(joined) > MOST_CELLS):
        joined, width = [], stretch_s(bands, count)
        for row, band in enumerate(bands):
            heats = np.searchsorted(np.asarray(bounds), means(band, width), side="right").tolist()
            at = 0
            for heat, same in groupby(heats):
                start, at = at, at + len(list(same))
                joined.append((row, start * width, min(at * width, band.seconds), heat))
        count //= 2
    return joined


def stretch_s(bands: Sequence[Band], count: int = MOST_STRETCHES) -> int:
    """The length of a stretch in seconds if the longest run has `count` of them."""
    return -(-max((band.seconds for band in bands), default=1) // count)


def means(band: Band, width: int) -> NDArray[np.float64]:
    """The mean of each stretch of `width` seconds."""
    starts = np.arange(0, band.seconds, width)
    sums = np.add.reduceat(band.values.astype(np.float64), starts)
    lengths = np.diff(np.append(starts, band.seconds))
    return np.asarray(sums / lengths)


def telling(bands: Sequence[Band]) -> dict[str, str]:
    """Representative runs by their ids, each with why it is one: the median, the lowest, the
    highest, the first and the last to fall, and the one that stalled longest."""
    if not bands:
        return {}
    ordered = sorted(bands, key=lambda band: band.median)
    places = {"the middle": len(ordered) // 2, "the lowest": 0, "the highest": -1}
    asked = [(ordered[at], why) for why, at in places.items()]
    if fell := [band for band in bands if band.fell_s is not None]:
        fell.sort(key=lambda band: band.fell_s or 0.0)
        asked += [(fell[0], "the first to fall"), (fell[-1], "the last to fall")]
    longest = max(bands, key=lambda band: band.stalled_s)
    asked += [(longest, "the longest stall")] if longest.stalled_s else []
    chosen: dict[str, str] = {}
    for band, why in asked:
        chosen.setdefault(band.run_id, f"{why} of {len(bands):,} runs")
    return chosen
