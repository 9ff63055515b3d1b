"""Statistics of replicates in the form that is shown and stored (MR-5 to MR-7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.analysis.repeats import repeats
from diskbench.model.comparison import Interval, Replicated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from diskbench.analysis.repeats import MedianInterval, Sample


def replicated(samples: Iterable[Sample]) -> Replicated:
    """The median of the samples with the interval, variation and outliers that MR-6 and MR-7 ask
    for."""
    statistics = repeats(list(samples))
    return Replicated(
        trials=statistics.trials,
        machines=statistics.n,
        median=statistics.median,
        low=statistics.low,
        high=statistics.high,
        interval=interval_of(statistics.interval),
        variation=statistics.variation,
        more=statistics.more,
        outliers=statistics.outliers,
    )


def interval_of(interval: MedianInterval | None) -> Interval | None:
    """An interval with its coverage; None where there are too few samples for an interval."""
    return (
        Interval(low=interval.low, high=interval.high, coverage=interval.coverage)
        if interval
        else None
    )
