"""Latency of one trial, step by step: median, tail and maximum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from diskbench.report.charts.axis import LATENCY_LABELS, decades, direction_colour
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.palette import DIRECTIONS
from diskbench.report.charts.registry import chart
from diskbench.report.charts.rows import drawn_rows
from diskbench.report.charts.step_label import ONE_MACHINE, WIDTH, height, label, step_axis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.report.assemble.chart_data import ChartData
    from diskbench.report.assemble.lines import StepLine
    from diskbench.report.charts.palette import Palette

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
    base = alt.Chart(drawn_rows(rows)).encode(y=step_axis(lines))
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
    drawing = alt.LayerChart(layer=[span, marks]).properties(width=WIDTH, height=height(lines))
    subtitle = f"time of one operation, logarithmic; {of_runs}; {ONE_MACHINE}"
    return ChartFigure("Latency", subtitle, drawing, id="latency")


@chart("latency", title="median, tail and longest latency of each step", needs="one trial", rank=40)
def _of_trial(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    lines = data.single.lines if data.single else ()
    if len(lines) > 1 and any(line.p50_ns or line.max_ns for line in lines):
        yield latency_chart(lines, palette)
