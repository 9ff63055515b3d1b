"""Time axes: seconds since the start, from ten seconds to several days."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from diskbench.report.assemble.phases import clock

if TYPE_CHECKING:
    import altair as alt

WIDTH = 300
"""Width of all plots over time, in pixels."""
_STEPS_S = (
    1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 3 * 3600, 6 * 3600, 12 * 3600,
)  # fmt: skip
_MOST_TICKS = 6
_IN_SECONDS = 120
"""Up to this length the axis shows seconds; beyond, clock times."""


def ticks(seconds: float) -> list[int]:
    """At most seven ticks at round times, starting at 0."""
    day = 24 * 3600
    step = next((step for step in _STEPS_S if seconds / step <= _MOST_TICKS), None)
    step = step or day * (int(seconds / day / _MOST_TICKS) + 1)
    return list(range(0, int(seconds) + 1, step))


def tick_words(second: int, seconds: float) -> str:
    """`90` on an axis of two minutes, `31:00` on one of an hour, `3:00 h` on one of a day."""
    if seconds <= _IN_SECONDS:
        return str(second)
    if seconds <= 2 * 3600:
        return clock(second)
    return f"{second // 3600}:{second % 3600 // 60:02} h"


def time_axis(seconds: float, field: str = "second") -> alt.X:
    """A horizontal axis of `seconds`, from 0."""
    import altair as alt

    marks = ticks(seconds)
    words = {str(mark): tick_words(mark, seconds) for mark in marks}
    title = "second" if seconds <= _IN_SECONDS else None
    axis = alt.Axis(
        title=title,
        values=marks,
        labelExpr=f"{json.dumps(words)}[datum.value]",
        grid=False,
        labelFlush=False,
        labelOverlap="greedy",
        labelSeparation=4,
    )
    return alt.X(f"{field}:Q", axis=axis, scale=alt.Scale(domain=[0, seconds], nice=False))
