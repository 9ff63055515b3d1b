"""Metrics and their axes: the format of numbers, when an axis is logarithmic, its bounds, ticks and
labels, and axes of time.

Values stay in the unit of the rows (IOPS, bytes per second, nanoseconds, dollars); only labels are
in MB/s, µs and ms.
"""

import json
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from diskbench.report.assemble.phases import clock
from diskbench.report.assemble.words import bare_text, figure_text
from diskbench.units import format_usd
from diskbench.visible import visible

Spec = dict[str, Any]
"""A Vega-Lite document, or a part of one."""
CHARACTER_PX = 6.8
"""Width of one character of a label in pixels: that of a wide font (DejaVu Sans, 11 px), because
the reader's font is unknown and a label must not be cut off."""
LOG_FROM = 100.0
"""Values that span more than this factor get a logarithmic axis: two decades. Our choice."""

_LABEL, _LINE_PX = 28, 14
"""The most characters of a line of a label, and its height in pixels. Our choices."""
LINE: Spec = {"domain": True, "ticks": True}
"""An axis with a line and ticks; others have neither."""
UTC_LABELS = (
    "utcFormat(datum.value, {milliseconds: '%H:%M:%S', seconds: '%H:%M:%S', minutes: '%H:%M', "
    "hours: '%H:%M', day: '%b %-d', date: '%b %-d', week: '%b %-d', month: '%b', "
    "quarter: '%b', year: '%Y'})"
)
"""Labels of an axis of times, in 24 hours: Vega's own are of 12."""


def wants_log(values: Iterable[float]) -> bool:
    """Whether positive values span more than two decades."""
    positive = [value for value in values if value > 0]
    return bool(positive) and max(positive) / min(positive) > LOG_FROM


def text_room(characters: int) -> int:
    """The width of so many characters in pixels."""
    return round(CHARACTER_PX * characters) + 8


def label_lines(name: str) -> list[str]:
    """The lines of a label beside an axis: a long one would leave no room for what it names."""
    return textwrap.wrap(name, _LABEL, break_on_hyphens=False) or [""]


def row_height(names: Iterable[str], least: int) -> int:
    """The height of rows in pixels, `least` or more, with room for the labels of all."""
    return max([least, *(_LINE_PX * len(label_lines(name)) for name in names)])


def span(counts: Iterable[int]) -> str:
    """`3`, or `3–5` where they differ."""
    low, high = min(counted := list(counts)), max(counted)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def amount(field: str, **more: object) -> Spec:
    """A channel of numbers."""
    return {"field": field, "type": "quantitative", **more}


def named(field: str, **more: object) -> Spec:
    """A channel of names."""
    return {"field": field, "type": "nominal", **more}


def bare_labels(names: Iterable[str], shown: Callable[[str], str] = str) -> Spec:
    """An axis of labels without a line or ticks, with room for the longest of the `names` as they
    are `shown`. Vega writes the second line of a label below the place of the first."""
    # As in the rows: a character that is made visible there is made so here.
    texts = {visible(name): label_lines(visible(shown(name))) for name in names}
    text = f"({json.dumps(texts, ensure_ascii=False)})[datum.value]"
    axis: Spec = {"title": None, "labelLimit": 0, "labelPadding": 8, "labelExpr": text}
    if counts := {len(lines) for lines in texts.values()} - {1}:
        raised = [
            {"test": f"length({text}) === {n}", "value": -_LINE_PX * (n - 1) / 2} for n in counts
        ]
        axis["labelOffset"] = {"condition": raised, "value": 0}
    longest = max((len(line) for lines in texts.values() for line in lines), default=0)
    return axis | {"minExtent": text_room(longest)}


def panel_title(text: str) -> Spec:
    """The title of one of several panels."""
    return {"text": text, "anchor": "start", "frame": "group", "offset": 6}


def stroke_legend(**more: object) -> Spec:
    """A legend of lines, above the plot."""
    return {"title": None, "symbolType": "stroke", "symbolStrokeWidth": 2, "offset": 6, **more}


def by_name(field: str, values: Mapping[str, Any], legend: Spec | None = None) -> Spec:
    """A channel (colour, dash, shape) with one value per name, the same in every chart."""
    scale = {"domain": list(values), "range": list(values.values())}
    return named(field, scale=scale, legend=legend, sort=None)


TIME_WIDTH = 300
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
    days = day * (int(seconds / day / _MOST_TICKS) + 1)
    step = next((step for step in _STEPS_S if seconds / step <= _MOST_TICKS), days)
    return list(range(0, int(seconds) + 1, step))


def run_axis(last: int, **more: object) -> Spec:
    """An axis of the runs 1 to `last`: the first, and a dozen round numbers at most."""
    steps = (base * 10**power for power in range(9) for base in (1, 5))
    step = next(step for step in steps if last / step <= 12)
    values = sorted({1, *range(step, last + 1, step)})
    return {"title": "run", "values": values, "format": ",d", "grid": False, **more}


def tick_words(second: int, seconds: float) -> str:
    """`90` on an axis of two minutes, `31:00` on one of an hour, `3:00 h` on one of a day."""
    if seconds <= _IN_SECONDS:
        return str(second)
    if seconds <= 2 * 3600:
        return clock(second)
    return f"{second // 3600}:{second % 3600 // 60:02} h"


def time_axis(seconds: float, field: str = "second") -> Spec:
    """A horizontal axis of `seconds`, from 0."""
    marks = ticks(seconds)
    words = {str(mark): tick_words(mark, seconds) for mark in marks}
    axis = {
        **LINE,
        "title": "second" if seconds <= _IN_SECONDS else None,
        "values": marks,
        "labelExpr": f"{json.dumps(words)}[datum.value]",
        "grid": False,
        "labelFlush": False,
        "labelOverlap": "greedy",
        "labelSeparation": 4,
    }
    return amount(field, axis=axis, scale={"domain": [0, seconds], "nice": False})


def _short(value: float) -> str:
    """`0.25`, `12`, `1.5k`, `12k`: of a step of a legend."""
    if value >= 1000:
        return f"{value / 1000:.{0 if value >= 10_000 else 1}f}k"
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


_AXES = {
    "iops": ("IOPS", "datum.value < 1e3 ? format(datum.value, '~r') : format(datum.value, '~s')"),
    "bytes_per_s": ("MB/s", "format(datum.value / 1e6, ',~r')"),
    "ios": ("I/Os a second", "datum.value"),
    "usd": ("US dollars a month", "'$' + format(datum.value, ',~r')"),
}
"""Metric → its unit as a title, and the labels of its axis."""
_LATENCY = (
    "datum.value < 1e3 ? datum.value + ' ns' : datum.value < 1e6 ? datum.value / 1e3 + ' µs' : "
    "datum.value < 1e9 ? datum.value / 1e6 + ' ms' : datum.value / 1e9 + ' s'"
)
_OF_OTHERS = ("time of one operation", _LATENCY)


def title(metric: str, direction: str = "total") -> str:
    """The unit, for an axis or a panel: `IOPS`, `read MB/s`."""
    name, _ = _AXES.get(metric, _OF_OTHERS)
    return name if direction == "total" else f"{direction} {name}"


def bare(metric: str, value: float) -> str:
    """A value for a mark on an axis with a unit: `3,634`, `92.0`, `18.1 ms`."""
    return {"ios": _short, "usd": format_usd}.get(metric, bare_text(metric))(value)


def with_unit(metric: str, value: float) -> str:
    """A value with its unit: `3,634 IOPS`, `92.0 MB/s`."""
    return figure_text(metric)(value)


def value_axis(
    field: str,
    metric: str,
    domain: Sequence[float],
    *,
    log: bool = False,
    ticks: int = 4,
    **more: object,
) -> Spec:
    """An axis over `domain` with its unit as title; on a logarithmic one only powers of ten are
    labelled. `more` are options of the axis."""
    # Vega would drop some of the given values for a count of ticks.
    marks = {"values": powers_within(domain)} if log else {"tickCount": ticks}
    axis = {
        "title": title(metric) + (", logarithmic" if log else ""),
        "labelExpr": _AXES.get(metric, _OF_OTHERS)[1],
        "labelOverlap": "greedy",
        "labelFlush": True,
        "labelSeparation": 6,
        **marks,
        **more,
    }
    scale = {"type": "log" if log else "linear", "domain": list(domain), "nice": False}
    return amount(field, scale=scale, axis=axis)


def latency_axis(field: str, domain: Sequence[float], *, grid: bool = True) -> Spec:
    """The vertical logarithmic axis of latencies; it has no title, because its labels have
    units."""
    return value_axis(field, "lat_ns", domain, log=True, minExtent=34, title=None, grid=grid)


def log_domain(values: Iterable[float]) -> list[float]:
    """Bounds of a logarithmic axis: slightly below the lowest and above the largest positive
    value."""
    positive = [value for value in values if value > 0] or [1.0, 10.0]
    return [min(positive) / 1.6, max(positive) * 1.6]


def powers_within(domain: Sequence[float]) -> list[float]:
    """Powers of ten inside a domain; if fewer than two, also 2 and 5 times them."""
    low, high = domain
    tens = [10.0**power for power in range(-3, 19) if low <= 10.0**power <= high]
    if len(tens) >= 2:
        return tens
    fine = [k * 10.0**power for power in range(-3, 19) for k in (1, 2, 5)]
    return [value for value in fine if low <= value <= high] or [low, high]
