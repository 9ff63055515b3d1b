"""Whether the level that a figure is of stands for the step: pure.

The doubts are `changed`, and `above-promise` for a burst that outlasts its bucket.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from diskbench.analysis.changes import LEAST_CHANGE
from diskbench.analysis.setting import ABOVE, Stretch
from diskbench.model.doubts import ABOVE_PROMISE, CHANGED
from diskbench.units import format_duration_s, format_iops, format_mb_per_s

if TYPE_CHECKING:
    from diskbench.analysis.stretches import Measured, StepPromise
    from diskbench.model.doubts import Reason

_NO_LEVEL = 0.5
"""From such a coefficient of variation of ten-second means on no level is kept; our choice."""


def changed(
    measured: Measured, stretches: Sequence[Stretch], main: int, promise: StepPromise | None
) -> Sequence[Reason]:
    """Return a doubt if the figure's level stands for less than it seems to: the step ended at
    another level, its seconds keep to none, or it fell and rose under load without a documented
    bucket."""
    shown, last = stretches[main], stretches[-1]
    if measured.cov is None and shown.cov is not None and shown.cov >= _NO_LEVEL:
        return (CHANGED.reason(f"its means of ten seconds vary by {shown.cov:.0%}"),)
    if shown.kind == "baseline":
        has_bucket = promise is not None and promise.expected.bursts
        rose = any(_is_apart(a, b) and _of(a, b) < _of(b, a) for a, b in pairwise(stretches[:main]))
        if has_bucket or not rose:
            return ()
        return (CHANGED.reason("it fell, rose and fell again"),)
    if shown is last or last.kind == "stall" or not _is_apart(shown, last):
        return ()
    then = figure_words(last.iops, last.bytes_per_s)
    now = figure_words(shown.iops, shown.bytes_per_s)
    return (CHANGED.reason(f"it ended at {then}, not at {now}"),)


def beyond_its_credit(
    stretch: Stretch, measured: Measured, promise: StepPromise | None
) -> Sequence[Reason]:
    """Return a doubt if a burst went on for longer than its bucket can bear it, from full."""
    expected = promise.expected if promise is not None else None
    if expected is None or stretch.kind != "burst" or not expected.bursts or stretch.used_up:
        return ()
    seconds = measured.seconds
    if stretch.start_s is not None and stretch.end_s is not None:
        seconds = stretch.end_s - stretch.start_s
    lasts_s = expected.lasts_s
    if lasts_s is None or seconds <= ABOVE * lasts_s:
        return ()
    return (
        ABOVE_PROMISE.reason(
            f"the burst lasted {format_duration_s(seconds)}; its credit lasts "
            f"{format_duration_s(lasts_s)}"
        ),
    )


def figure_words(iops: float | None, bytes_per_s: float | None) -> str:
    """Return `3,000 IOPS`, or `98.0 MB/s` if there are no IOPS."""
    if iops is not None:
        return f"{format_iops(iops)} IOPS"
    return f"{format_mb_per_s(bytes_per_s)} MB/s" if bytes_per_s is not None else "nothing"


def _is_apart(first: Stretch, second: Stretch) -> bool:
    rates = (_of(first, second), _of(second, first))
    return min(rates) <= (1 - LEAST_CHANGE) * max(rates)


def _of(stretch: Stretch, beside: Stretch) -> float:
    """Return a rate in the unit that both have."""
    have_iops = stretch.iops is not None and beside.iops is not None
    return (stretch.iops if have_iops else stretch.bytes_per_s) or 0.0
