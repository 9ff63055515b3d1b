"""What replicates say together, as it is told and kept (MR-5 to MR-7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.analysis.repeats import repeats
from diskbench.model.comparison import Interval, Replicated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from diskbench.analysis.interval import MedianInterval
    from diskbench.analysis.repeats import Sample


def replicated(samples: Iterable[Sample]) -> Replicated:
    """The median of the samples with all that MR-6 and MR-7 want beside it."""
    found = repeats(list(samples))
    return Replicated(
        trials=found.trials,
        machines=found.n,
        median=found.median,
        low=found.low,
        high=found.high,
        interval=told(found.interval),
        variation=found.variation,
        more=found.more,
        outliers=found.outliers,
    )


def told(one: MedianInterval | None) -> Interval | None:
    """An interval with its coverage; None where there are too few samples for any."""
    return Interval(low=one.low, high=one.high, coverage=one.coverage) if one else None
