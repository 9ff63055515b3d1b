"""One trial step by step: IOPS and throughput on an axis each, latency (median, tail and maximum),
and the picture of all three below the title of the result.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diskbench.analysis.setting import in_large_blocks
from diskbench.report.assemble.chart_data import ChartData
from diskbench.report.assemble.lines import Spread, StepLine
from diskbench.report.charts.figure import ChartFigure, document
from diskbench.report.charts.layers import chart_of, layered
from diskbench.report.charts.measure import (
    CHARACTER_PX,
    LATENCY_LABELS,
    decades,
    direction_colour,
    label_axis,
)
from diskbench.report.charts.palette import DIRECTIONS, PICTURE, Palette
from diskbench.report.charts.registry import chart
from diskbench.units import format_iops, format_mb_per_s

if TYPE_CHECKING:
    import altair as alt


WIDTH = 260
WRAP = 100
"""Characters per line of the subtitle above the drawings of a picture."""
ROW_HEIGHT = 26
ONE_MACHINE = "no interval (n = 1 machine)"
"""Runs of one trial are a series on one disk, so there is no interval (MR-5)."""


def label(line: StepLine, lines: Sequence[StepLine]) -> str:
    """The step's name, with the direction if the name alone is ambiguous."""
    alone = sum(other.step == line.step for other in lines) == 1
    return line.step if alone and line.direction in line.step else f"{line.step} {line.direction}"


def height(lines: Sequence[StepLine]) -> int:
    """The height in pixels of a chart with one row per line."""
    return ROW_HEIGHT * max(len(lines), 1)


def step_axis(lines: Sequence[StepLine]) -> alt.Y:
    """The vertical axis of the steps, in order."""
    return label_axis([label(line, lines) for line in lines])


def rate_charts(lines: Sequence[StepLine], palette: Palette) -> tuple[ChartFigure, ...]:
    """Bars of IOPS for steps in small blocks, and bars of MB/s for those in large ones: on one axis
    a step of 1 MiB would look a hundred times slower than one of 4 KiB on the same disk. A thin
    line shows the range of the runs. Steps without a rate have no bar."""
    counted = [line for line in lines if line.iops is not None]
    small = [line for line in counted if not _is_large(line)]
    large = [line for line in counted if _is_large(line)]
    figures = [_bars(small, palette, _IOPS)] if small else []
    return (*figures, *([_bars(large, palette, _THROUGHPUT)] if large else ()))


@dataclass(frozen=True)
class _Rate:
    """What the length of a bar is, and the text beside it."""

    id: str
    title: str
    unit: str
    of: Callable[[StepLine], Spread | None]
    text: Callable[[StepLine], str]


def _is_large(line: StepLine) -> bool:
    """Whether the blocks of a step are so large that its rate is that of its bytes."""
    if line.iops is None or line.bytes_per_s is None:
        return False
    return in_large_blocks(line.iops.median, line.bytes_per_s.median)


def _bars(lines: Sequence[StepLine], palette: Palette, rate: _Rate) -> ChartFigure:
    import altair as alt

    runs = max(line.n for line in lines)
    spreads = [(line, spread) for line in lines if (spread := rate.of(line)) is not None]
    rows = [
        {
            "label": label(line, lines),
            "direction": line.direction,
            "rate": spread.median,
            "low": spread.low,
            "high": spread.high,
            "text": rate.text(line),
        }
        for line, spread in spreads
    ]
    top = max(spread.high for _, spread in spreads)
    # Room to the right of the longest bar for the longest label.
    room = CHARACTER_PX * max(len(rate.text(line)) for line in lines) + 8
    scale = alt.Scale(domain=[0, top * WIDTH / max(WIDTH - room, WIDTH / 4)], nice=False)
    base = chart_of(rows).encode(y=step_axis(lines))
    bars = base.mark_bar(cornerRadiusEnd=3, height=14).encode(
        x=alt.X("rate:Q", title=None, scale=scale, axis=None),
        color=direction_colour(palette.directions, DIRECTIONS),
    )
    texts = base.mark_text(align="left", dx=6, color=palette.ink).encode(
        x=alt.X("high:Q", scale=scale, axis=None), text=alt.Text("text:N")
    )
    layers = [bars, texts]
    subtitle = rate.unit
    if runs > 1:
        span = base.mark_rule(color=palette.ink, strokeWidth=1.5).encode(
            x=alt.X("low:Q", scale=scale, axis=None), x2=alt.X2("high:Q")
        )
        layers.insert(1, span)
        subtitle += f"; bar: median of n = {runs} runs, line: lowest to highest"
    else:
        subtitle += "; n = 1 run"
    subtitle += f"; {ONE_MACHINE}"
    drawing = layered(layers, WIDTH, height(lines))
    return ChartFigure(rate.title, subtitle, drawing, id=rate.id)


def _iops_text(line: StepLine) -> str:
    iops = format_iops(line.iops.median) if line.iops else ""
    if line.direction == "sync" or line.bytes_per_s is None:
        return iops
    return f"{iops}  ({format_mb_per_s(line.bytes_per_s.median)} MB/s)"


def _throughput_text(line: StepLine) -> str:
    speed = format_mb_per_s(line.bytes_per_s.median) if line.bytes_per_s else ""
    return f"{speed}  ({format_iops(line.iops.median)} IOPS)" if line.iops else speed


_IOPS = _Rate("iops", "IOPS", "operations per second (MB/s)", lambda line: line.iops, _iops_text)
_THROUGHPUT = _Rate(
    "throughput",
    "Throughput",
    "MB/s of steps in large blocks (IOPS)",
    lambda line: line.bytes_per_s,
    _throughput_text,
)


@chart("iops", title="IOPS and throughput of each step", needs="one trial", rank=30)
def _rates_of_trial(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    if data.single and sum(line.iops is not None for line in data.single.lines) > 1:
        yield from rate_charts(data.single.lines, palette)


_TICK = "M-0.2,-1.2h0.4v2.4h-0.4Z"


def latency_chart(lines: Sequence[StepLine], palette: Palette) -> ChartFigure:
    """p50, p99, p99.9 and maximum of each step and direction on a logarithmic axis."""
    import altair as alt

    runs = max((line.n for line in lines), default=0)
    rows = [
        {
            "label": label(line, lines),
            "direction": line.direction,
            "which": which,
            "ns": value.median,
        }
        for line in lines
        for which, value in (
            ("p50", line.p50_ns),
            ("p99", line.p99_ns),
            ("p99.9", line.p99_9_ns),
            ("max", line.max_ns),
        )
        if value and value.median > 0
    ]
    powers = decades([float(str(row["ns"])) for row in rows])
    axis = alt.Axis(
        labelExpr=LATENCY_LABELS,
        values=powers,
        title=None,
        domain=False,
        labelOverlap="greedy",
        labelFlush=True,
        labelSeparation=8,
    )
    scale = alt.Scale(type="log", domain=[powers[0], powers[-1]])
    x = alt.X("ns:Q", scale=scale, axis=axis)
    base = chart_of(rows).encode(y=step_axis(lines))
    colour = direction_colour(palette.directions, DIRECTIONS)
    span = base.mark_rule(strokeWidth=2, opacity=0.35).encode(
        x=alt.X("min(ns):Q", scale=scale, axis=axis), x2="max(ns):Q", color=colour
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
    marks = base.mark_point(filled=True, size=58, opacity=1).encode(x=x, shape=shapes, color=colour)
    of_runs = f"median of n = {runs} runs" if runs > 1 else "n = 1 run"
    drawing = layered([span, marks], WIDTH, height(lines))
    subtitle = f"time of one operation, logarithmic; {of_runs}; {ONE_MACHINE}"
    return ChartFigure("Latency", subtitle, drawing, id="latency")


@chart("latency", title="median, tail and longest latency of each step", needs="one trial", rank=40)
def _latency_of_trial(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    lines = data.single.lines if data.single else ()
    if len(lines) > 1 and any(line.p50_ns or line.max_ns for line in lines):
        yield latency_chart(lines, palette)


def summary_picture(
    title: str, subtitle: str, lines: Sequence[StepLine], palette: Palette = PICTURE
) -> dict[str, Any]:
    """The Vega-Lite document of the picture."""
    import altair as alt

    figures: list[Any] = []
    for figure in (*rate_charts(lines, palette), latency_chart(lines, palette)):
        wrapped = textwrap.wrap(figure.subtitle, WRAP)
        words = alt.TitleParams(figure.title, subtitle=wrapped, anchor="start", offset=10)
        drawing: Any = figure.drawing
        figures.append(drawing.properties(width=460, title=words))
    charts = alt.vconcat(*figures, spacing=28).resolve_legend(shape="independent")
    about = textwrap.wrap(subtitle, WRAP, break_on_hyphens=False) or [""]
    heading = alt.TitleParams(title, subtitle=about, fontSize=16, anchor="start", offset=18)
    return document(charts.properties(title=heading), palette)
