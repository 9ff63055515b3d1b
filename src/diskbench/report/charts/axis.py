"""Axes: when to use a logarithmic one, tick values, and room for labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import altair as alt

CHARACTER_PX = 6.8
"""Width of one character of a label in pixels: that of a wide font (DejaVu Sans, 11 px), because
the reader's font is unknown and a label must not be cut off."""
LOG_FROM = 100.0
"""Values that span more than this factor get a logarithmic axis: two decades. Our choice."""

UTC_LABELS = (
    "utcFormat(datum.value, {milliseconds: '%H:%M:%S', seconds: '%H:%M:%S', minutes: '%H:%M', "
    "hours: '%H:%M', day: '%b %-d', date: '%b %-d', week: '%b %-d', month: '%b', "
    "quarter: '%b', year: '%Y'})"
)
"""Labels of an axis of times, in 24 hours: Vega's own are of 12."""
LATENCY_LABELS = (
    "datum.value < 1e3 ? datum.value + ' ns' : datum.value < 1e6 ? datum.value / 1e3 + ' µs' : "
    "datum.value < 1e9 ? datum.value / 1e6 + ' ms' : datum.value / 1e9 + ' s'"
)


def wants_log(values: Iterable[float]) -> bool:
    """Whether positive values span more than two decades."""
    positive = [value for value in values if value > 0]
    return bool(positive) and max(positive) / min(positive) > LOG_FROM


def decades(values: Sequence[float]) -> list[float]:
    """The powers of ten that enclose `values`, at least two."""
    low = math.floor(math.log10(min(values, default=1e3)))
    high = math.ceil(math.log10(max(values, default=1e6)))
    return [10.0**power for power in range(low, max(high, low + 1) + 1)]


def whole_seconds(n: int) -> list[int]:
    """About six ticks at whole seconds: every 1, 2, 5, 10, 20, 50 … seconds."""
    raw = max(n / 6, 1)
    unit = 10 ** math.floor(math.log10(raw))
    step = next(unit * k for k in (1, 2, 5, 10) if unit * k >= raw)
    return list(range(step, n + 1, step))


def label_room(names: Iterable[str]) -> int:
    """The width in pixels of the longest of `names` beside an axis."""
    return round(CHARACTER_PX * max((len(name) for name in names), default=0)) + 8


def label_axis(names: Sequence[str], field: str = "label") -> alt.Y:
    """A vertical axis of names in order, with room for the longest and without line or ticks."""
    import altair as alt

    return alt.Y(f"{field}:N", sort=list(names), axis=bare_labels(names))


def bare_labels(names: Sequence[str]) -> alt.Axis:
    """Labels without a line or ticks, with room for the longest of `names`."""
    import altair as alt

    return alt.Axis(
        title=None,
        ticks=False,
        domain=False,
        labelLimit=0,
        labelPadding=8,
        minExtent=label_room(names),
    )


def direction_colour(colours: Sequence[str], names: Sequence[str]) -> alt.Color:
    """Colours of directions by name, without a legend: the labels name the directions."""
    import altair as alt

    scale = alt.Scale(domain=list(names), range=list(colours))
    return alt.Color("direction:N", scale=scale, legend=None)
