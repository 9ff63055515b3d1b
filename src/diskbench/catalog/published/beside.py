"""One published figure beside what a run measured of the same workload, and why they may differ.

    theirs    the published value
    ours      of the runs' merged rows of the figure's step: the mean over the runs, as the posts
              give means; for a latency the mean of all I/Os; the least and the longest for extremes
    ratio     ours / theirs; 2 is twice as much, which for a latency is twice as slow

One figure without its spread beside another proves nothing: this sets them side by side and tests
no difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diskbench.catalog.published.figures import Metric, Published
    from diskbench.model.result import Measurement

_IMPORTED = {"seqwrite": "seq-write-64k", "seqread": "seq-read-64k", "iops": "rand-512-9to1"}
"""Steps of an imported GoBonnieGo file → those of the profile that repeats it."""


@dataclass(frozen=True)
class Beside:
    """One figure with ours, over so many runs. `runtime_s` is how long the step took on average;
    None where no row says so."""

    figure: Published
    ours: float
    runs: int
    runtime_s: float | None

    @property
    def ratio(self) -> float:
        """Ours by theirs."""
        return self.ours / self.figure.value


def beside(
    figures: Iterable[Published], measured: Sequence[Measurement], *, gobonniego_file: bool = False
) -> tuple[Beside, ...]:
    """Each figure that the rows have a value for. `gobonniego_file`: the rows were imported from
    a file of GoBonnieGo's own, whose steps have other names."""
    names = _IMPORTED if gobonniego_file else {}
    rows = [row for row in measured if row.scope == "step"]
    results = []
    for figure in figures:
        of_step = [row for row in rows if names.get(row.step, row.step) == figure.step]
        result = _beside(figure, _of_direction(of_step, figure.direction))
        if result is not None:
            results.append(result)
    return tuple(results)


def _of_direction(rows: Iterable[Measurement], direction: str) -> list[Measurement]:
    if direction == "total":
        return [row for row in rows if row.direction in ("read", "write", "mixed") and row.did_io]
    return [row for row in rows if row.direction == direction and row.did_io]


def _beside(figure: Published, rows: Sequence[Measurement]) -> Beside | None:
    by_run: dict[str, list[Measurement]] = {}
    for row in rows:
        by_run.setdefault(row.run_id, []).append(row)
    ours = _value(figure.metric, rows, tuple(by_run.values()))
    if ours is None:
        return None
    times = [max(row.runtime_ns or 0 for row in run) for run in by_run.values()]
    return Beside(figure, ours, len(by_run), fmean(times) / 1e9 or None)


def _value(
    metric: Metric, rows: Sequence[Measurement], runs: Sequence[Sequence[Measurement]]
) -> float | None:
    if not rows:
        return None
    match metric:
        case "iops":
            return _mean([row.iops for row in run] for run in runs)
        case "bytes_per_s":
            return _mean([row.bytes_per_s for row in run] for run in runs)
        case "lat_mean_ns":
            pairs = [
                (row.lat_mean_ns, row.ios)
                for row in rows
                if row.lat_mean_ns is not None and row.ios is not None
            ]
            ios = sum(count for _, count in pairs)
            return sum(mean * count for mean, count in pairs) / ios if ios else None
        case "lat_min_ns":
            least = [row.lat_min_ns for row in rows if row.lat_min_ns is not None]
            return float(min(least)) if least else None
        case "lat_max_ns":
            longest = [row.lat_max_ns for row in rows if row.lat_max_ns is not None]
            return float(max(longest)) if longest else None


def _mean(runs: Iterable[Sequence[float | None]]) -> float | None:
    """The mean over runs of the sum of their rates; a run with an unknown rate is left out."""
    sums = [sum(rate or 0.0 for rate in rates) for rates in runs if None not in rates]
    return fmean(sums) if sums else None
