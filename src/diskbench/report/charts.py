"""Charts of one trial. altair is imported when one is drawn, never before.

Every chart has a title, the unit, and n. Colours are a Palette: values for a picture, CSS
variables for a page that follows the reader's light or dark mode.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diskbench.units import format_iops, format_mb_per_s

if TYPE_CHECKING:
    import altair as alt

    from diskbench.report.lines import Line
    from diskbench.report.seconds import StepSeconds

WIDTH = 260
SECONDS_WIDTH = 280
ROW_HEIGHT = 26
_DOTS_UP_TO_S = 60
CHARACTER_PX = 6.8
"""Room for one character of a label: that of a wide font (DejaVu Sans, 11 px), because the page is
drawn with whatever font its reader has and a label must not be cut off."""
_DIRECTIONS = ("read", "write", "trim", "mixed", "sync")
_TICK = "M-0.2,-1.2h0.4v2.4h-0.4Z"
_LATENCY_LABELS = (
    "datum.value < 1e3 ? datum.value + ' ns' : datum.value < 1e6 ? datum.value / 1e3 + ' µs' : "
    "datum.value < 1e9 ? datum.value / 1e6 + ' ms' : datum.value / 1e9 + ' s'"
)


@dataclass(frozen=True)
class Palette:
    """Colours by their part; `directions` in the order read, write, trim, mixed, sync."""

    background: str
    ink: str
    muted: str
    grid: str
    directions: tuple[str, str, str, str, str]


PICTURE = Palette(
    background="#ffffff",
    ink="#1c1c1a",
    muted="#6b6a64",
    grid="#e4e3de",
    directions=("#2a78d6", "#d9622b", "#7a5cc7", "#1f9a8a", "#b8860b"),
)
PAGE = Palette(
    background="transparent",
    ink="var(--ink)",
    muted="var(--muted)",
    grid="var(--grid)",
    directions=("var(--read)", "var(--write)", "var(--trim)", "var(--mixed)", "var(--sync)"),
)


@dataclass(frozen=True)
class Figure:
    """A chart, with the words above it: what is drawn, its unit, and n."""

    title: str
    subtitle: str
    drawing: alt.LayerChart


def iops_chart(lines: Sequence[Line], palette: Palette) -> Figure:
    """Bars of IOPS, one a step and direction; a thin line spans the runs."""
    import altair as alt

    runs = max((line.iops.n for line in lines), default=0)
    rows = [
        {
            "label": label(line, lines),
            "direction": line.direction,
            "iops": line.iops.median,
            "low": line.iops.low,
            "high": line.iops.high,
            "text": _bar_text(line),
        }
        for line in lines
    ]
    top = max((line.iops.high for line in lines), default=1.0)
    # Room to the right of the longest bar for the longest label.
    room = CHARACTER_PX * max((len(_bar_text(line)) for line in lines), default=0) + 8
    scale = alt.Scale(domain=[0, top * WIDTH / max(WIDTH - room, WIDTH / 4)], nice=False)
    base = alt.Chart({"values": rows}).encode(y=_label_axis(lines))
    bars = base.mark_bar(cornerRadiusEnd=3, height=14).encode(
        x=alt.X("iops:Q", title=None, scale=scale, axis=None), color=_colour(palette)
    )
    texts = base.mark_text(align="left", dx=6, color=palette.ink).encode(
        x=alt.X("high:Q", scale=scale, axis=None), text="text:N"
    )
    layers = [bars, texts]
    subtitle = "operations per second (MB/s)"
    if runs > 1:
        span = base.mark_rule(color=palette.ink, strokeWidth=1.5).encode(
            x=alt.X("low:Q", scale=scale, axis=None), x2="high:Q"
        )
        layers.insert(1, span)
        subtitle += f"; bar: median of n = {runs} runs, line: lowest to highest"
    else:
        subtitle += "; n = 1 run"
    drawing = alt.LayerChart(layer=layers).properties(width=WIDTH, height=_height(lines))
    return Figure("IOPS", subtitle, drawing)


def latency_chart(lines: Sequence[Line], palette: Palette) -> Figure:
    """p50, p99, p99.9 and maximum of each step and direction on a logarithmic axis."""
    import altair as alt

    runs = max((line.iops.n for line in lines), default=0)
    rows = [
        {"label": label(line, lines), "direction": line.direction, "which": which, "ns": one.median}
        for line in lines
        for which, one in (
            ("p50", line.p50_ns),
            ("p99", line.p99_ns),
            ("p99.9", line.p99_9_ns),
            ("max", line.max_ns),
        )
        if one and one.median > 0
    ]
    decades = _decades([float(str(row["ns"])) for row in rows])
    axis = alt.Axis(
        labelExpr=_LATENCY_LABELS,
        values=decades,
        title=None,
        domain=False,
        labelOverlap="greedy",
        labelFlush=True,
        labelSeparation=8,
    )
    scale = alt.Scale(type="log", domain=[decades[0], decades[-1]])
    x = alt.X("ns:Q", scale=scale, axis=axis)
    base = alt.Chart({"values": rows}).encode(y=_label_axis(lines))
    span = base.mark_rule(strokeWidth=2, opacity=0.35).encode(
        x=alt.X("min(ns):Q", scale=scale, axis=axis),
        x2="max(ns):Q",
        color=_colour(palette),
    )
    order = ["p50", "p99", "p99.9", "max"]
    shapes = alt.Shape(
        "which:N",
        sort=order,
        scale=alt.Scale(domain=order, range=["circle", "diamond", "triangle-up", _TICK]),
        legend=alt.Legend(
            orient="top", title=None, symbolFillColor=palette.muted, symbolStrokeWidth=0
        ),
    )
    marks = base.mark_point(filled=True, size=58, opacity=1).encode(
        x=x, shape=shapes, color=_colour(palette)
    )
    of_runs = f"median of n = {runs} runs" if runs > 1 else "n = 1 run"
    subtitle = f"time of one operation, logarithmic; {of_runs}"
    drawing = alt.LayerChart(layer=[span, marks])
    return Figure("Latency", subtitle, drawing.properties(width=WIDTH, height=_height(lines)))


def seconds_chart(series: StepSeconds, palette: Palette) -> Figure:
    """IOPS of one step, second by second, from zero."""
    import altair as alt

    rows = [
        {"second": second + 1, "iops": iops, "direction": direction}
        for direction, points in series.directions.items()
        for second, iops in points
    ]
    base = alt.Chart({"values": rows}).encode(
        x=alt.X(
            "second:Q",
            title="second",
            axis=alt.Axis(format="d", grid=False, values=_whole_seconds(series.n)),
            scale=alt.Scale(nice=False),
        ),
        y=alt.Y(
            "iops:Q",
            title=None,
            axis=alt.Axis(format="~s", tickCount=3, domain=False, ticks=False, minExtent=34),
            scale=alt.Scale(zero=True),
        ),
        color=_colour(palette),
    )
    line = base.mark_line(strokeWidth=2, interpolate="linear")
    dots = base.mark_point(filled=True, size=18, opacity=1)
    layers = [line, dots] if series.n <= _DOTS_UP_TO_S else [line]
    drawing = alt.LayerChart(layer=layers).properties(width=SECONDS_WIDTH, height=96)
    return Figure(series.step, f"IOPS in each second, n = {series.n} s", drawing)


def picture(
    title: str, subtitle: str, lines: Sequence[Line], palette: Palette = PICTURE
) -> dict[str, Any]:
    """The Vega-Lite document of one picture: IOPS over latency, under the result's own title."""
    import altair as alt

    charts = alt.vconcat(
        *(
            figure.drawing.properties(
                width=460,
                title=alt.TitleParams(
                    figure.title, subtitle=figure.subtitle, anchor="start", offset=10
                ),
            )
            for figure in (iops_chart(lines, palette), latency_chart(lines, palette))
        ),
        spacing=28,
    ).resolve_legend(shape="independent")
    heading = alt.TitleParams(title, subtitle=subtitle, fontSize=16, anchor="start", offset=18)
    return document(charts.properties(title=heading), palette)


def document(chart: alt.TopLevelMixin, palette: Palette) -> dict[str, Any]:
    """The Vega-Lite document of a chart, with the colours of text, axes and background."""
    spec: dict[str, Any] = chart.to_dict(validate=False)
    spec["background"] = palette.background
    spec["padding"] = 0 if palette.background == "transparent" else 20
    spec["config"] = {
        "font": "sans-serif",
        "view": {"stroke": None},
        "axis": {
            "labelColor": palette.muted,
            "titleColor": palette.muted,
            "titleFontWeight": "normal",
            "gridColor": palette.grid,
            "domainColor": palette.grid,
            "tickColor": palette.grid,
            "labelFontSize": 11,
            "titleFontSize": 11,
        },
        "legend": {"labelColor": palette.muted, "labelFontSize": 11},
        "text": {"fontSize": 11},
        "title": {
            "color": palette.ink,
            "subtitleColor": palette.muted,
            "fontSize": 13,
            "subtitleFontSize": 11,
            "subtitlePadding": 4,
            "anchor": "start",
        },
    }
    return spec


def label(line: Line, lines: Sequence[Line]) -> str:
    """The step's name, with the direction where the name alone would leave it open."""
    alone = sum(other.step == line.step for other in lines) == 1
    return line.step if alone and line.direction in line.step else f"{line.step} {line.direction}"


def _decades(values: Sequence[float]) -> list[float]:
    """The powers of ten that enclose `values`, at least two."""
    low = math.floor(math.log10(min(values, default=1e3)))
    high = math.ceil(math.log10(max(values, default=1e6)))
    return [10.0**power for power in range(low, max(high, low + 1) + 1)]


def _whole_seconds(n: int) -> list[int]:
    """About six marks on whole seconds: every 1, 2, 5, 10, 20, 50 … of them."""
    raw = max(n / 6, 1)
    unit = 10 ** math.floor(math.log10(raw))
    step = next(unit * k for k in (1, 2, 5, 10) if unit * k >= raw)
    return list(range(step, n + 1, step))


def _height(lines: Sequence[Line]) -> int:
    return ROW_HEIGHT * max(len(lines), 1)


def _bar_text(line: Line) -> str:
    iops = format_iops(line.iops.median)
    if line.direction == "sync":
        return iops
    return f"{iops}  ({format_mb_per_s(line.bytes_per_s.median)} MB/s)"


def _label_axis(lines: Sequence[Line]) -> alt.Y:
    import altair as alt

    names = [label(line, lines) for line in lines]
    extent = round(CHARACTER_PX * max((len(name) for name in names), default=0)) + 8
    axis = alt.Axis(
        title=None, ticks=False, domain=False, labelLimit=0, labelPadding=8, minExtent=extent
    )
    return alt.Y("label:N", sort=names, axis=axis)


def _colour(palette: Palette) -> alt.Color:
    import altair as alt

    scale = alt.Scale(domain=list(_DIRECTIONS), range=list(palette.directions))
    return alt.Color("direction:N", scale=scale, legend=None)
