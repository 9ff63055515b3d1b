"""One trial step by step: IOPS and throughput on an axis each, latency (median, tail and maximum),
and the picture of all three below the title of the result.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from diskbench.analysis.setting import in_large_blocks
from diskbench.report.assemble.chart_data import ChartData
from diskbench.report.assemble.lines import Spread, StepLine
from diskbench.report.charts.figure import ChartFigure, document
from diskbench.report.charts.layers import layer, layered
from diskbench.report.charts.measure import (
    LATENCY_LABELS,
    Channel,
    Spec,
    amount,
    bare_labels,
    by_name,
    decades,
    named,
)
from diskbench.report.charts.palette import DIRECTIONS, PICTURE, Palette
from diskbench.report.charts.point import Row
from diskbench.report.charts.registry import chart
from diskbench.units import format_iops, format_mb_per_s

WIDTH = 260
_BARS_WIDTH = 165
"""Texts stand to the right of it."""
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


def step_axis(lines: Sequence[StepLine]) -> Channel:
    """The vertical axis of the steps, in order."""
    names = [label(line, lines) for line in lines]
    return named("label", sort=names, axis=bare_labels(names))


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
    runs = max(line.n for line in lines)
    rows: list[Row] = [
        {
            "label": label(line, lines),
            "direction": line.direction,
            "rate": spread.median,
            "low": spread.low,
            "high": spread.high,
            "text": rate.text(line),
        }
        for line in lines
        if (spread := rate.of(line)) is not None
    ]
    scale = {"domain": [0, max(row["high"] for row in rows)], "nice": False}
    y = step_axis(lines)

    def at(field: str, **more: Channel) -> dict[str, Channel]:
        return {"x": amount(field, title=None, scale=scale, axis=None), "y": y, **more}

    colour = by_name("direction", dict(zip(DIRECTIONS, palette.directions, strict=True)))
    layers = [
        layer("bar", rows, at("rate", color=colour), cornerRadiusEnd=3, height=14),
        layer("rule", rows if runs > 1 else (), at("low", x2={"field": "high"}), color=palette.ink,
              strokeWidth=1.5),
        layer("text", rows, at("high", text=named("text")), align="left", dx=6, color=palette.ink),
    ]  # fmt: skip
    n = f"bar: median of n = {runs} runs, line: lowest to highest" if runs > 1 else "n = 1 run"
    subtitle = f"{rate.unit}; {n}; {ONE_MACHINE}"
    return ChartFigure(
        rate.title, subtitle, lambda _: layered(layers, _BARS_WIDTH, height(lines)), id=rate.id
    )


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
    runs = max((line.n for line in lines), default=0)
    rows: list[Row] = [
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
    powers = decades([row["ns"] for row in rows])
    axis = {"labelExpr": LATENCY_LABELS, "values": powers, "title": None, "domain": False,
            "labelOverlap": "greedy", "labelFlush": True, "labelSeparation": 8}  # fmt: skip
    x = amount("ns", scale={"type": "log", "domain": [powers[0], powers[-1]]}, axis=axis)
    ends = {"x": x | {"aggregate": "min"}, "x2": {"field": "ns", "aggregate": "max"}}
    of_step = {
        "y": step_axis(lines),
        "color": by_name("direction", dict(zip(DIRECTIONS, palette.directions, strict=True))),
    }
    legend = {"orient": "top", "title": None, "symbolFillColor": palette.muted,
              "symbolStrokeWidth": 0}  # fmt: skip
    shapes = {"p50": "circle", "p99": "diamond", "p99.9": "triangle-up", "max": _TICK}
    layers = [
        layer("rule", rows, of_step | ends, strokeWidth=2, opacity=0.35),
        layer("point", rows, of_step | {"x": x, "shape": by_name("which", shapes, legend)},
              filled=True, size=58, opacity=1),
    ]  # fmt: skip
    of_runs = f"median of n = {runs} runs" if runs > 1 else "n = 1 run"
    subtitle = f"time of one operation, logarithmic; {of_runs}; {ONE_MACHINE}"
    return ChartFigure(
        "Latency", subtitle, lambda _: layered(layers, WIDTH, height(lines)), id="latency"
    )


def _has_latency(lines: Sequence[StepLine]) -> bool:
    return any(line.p50_ns or line.max_ns for line in lines)


@chart("latency", title="median, tail and longest latency of each step", needs="one trial", rank=40)
def _latency_of_trial(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    lines = data.single.lines if data.single else ()
    if len(lines) > 1 and _has_latency(lines):
        yield latency_chart(lines, palette)


def summary_picture(
    title: str, subtitle: str, lines: Sequence[StepLine], palette: Palette = PICTURE
) -> Spec:
    """The Vega-Lite document of the picture; without a latency there is no drawing of it."""
    drawn = [*rate_charts(lines, palette)]
    if _has_latency(lines):
        drawn.append(latency_chart(lines, palette))
    figures = [
        figure.on()
        | {
            "width": 460,
            "title": {
                "text": figure.title,
                "subtitle": textwrap.wrap(figure.subtitle, WRAP),
                "anchor": "start",
                "offset": 10,
            },
        }
        for figure in drawn
    ]
    heading = {
        "text": title,
        "subtitle": textwrap.wrap(subtitle, WRAP, break_on_hyphens=False) or [""],
        "fontSize": 16,
        "anchor": "start",
        "offset": 18,
    }
    resolved = {"legend": {"shape": "independent"}}
    return document(
        {"vconcat": figures, "spacing": 28, "resolve": resolved, "title": heading}, palette
    )
