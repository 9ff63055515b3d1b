"""Latency against throughput: shows where more load only adds latency."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from diskbench.report.assemble.chart_data import ChartData
from diskbench.report.assemble.load_curve import LoadCurve, LoadPoint
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import chart_of, latency_axis, layered, stroke_scale, value_axis
from diskbench.report.charts.measure import bare, log_domain, wants_log
from diskbench.report.charts.palette import Palette
from diskbench.report.charts.registry import chart

if TYPE_CHECKING:
    import altair as alt

MOST_CURVES = 2
"""The most families of steps with a curve in one report."""
WIDTH = 300
HEIGHT = 170
_SHAPES = {"p50": "circle", "p99": "diamond"}
_DASHES = {"p50": [1, 0], "p99": [5, 2]}
_ROOM = 1.16
"""Room to the right of the highest rate for the labels of saturated points."""
_CROWDED = 0.93
"""Share of the highest rate from which on points are on the vertical end. Our choice."""
_LINE_PX = 11


class _Mark(NamedTuple):
    """One quantile of one point, as altair draws it; `which` is `p50` or `p99`."""

    iops: float
    ns: float
    which: str
    load: float
    saturated: bool
    text: str
    words: str


def load_chart(curve: LoadCurve, palette: Palette) -> ChartFigure:
    """p50 and p99 over the reached IOPS, one point per load, in the order of the loads.

    Points are labelled with their load; saturated ones are hollow.
    """
    marks = [
        _mark(curve, point, name, ns)
        for point in curve.points
        for name, ns in (("p50", point.p50_ns), ("p99", point.p99_ns))
        if ns
    ]
    rates = [point.iops for point in curve.points]
    log = wants_log(rates)
    return ChartFigure(
        title=f"{curve.name} {curve.direction}: latency against throughput",
        subtitle=_subtitle(curve),
        drawing=_drawing(curve, marks, palette, log=False),
        id=f"load-{curve.name.replace(' ', '-')}-{curve.direction}-"
        + ("offered" if curve.offered else "depth"),
        alt=_sentence(curve),
        log_drawing=_drawing(curve, marks, palette, log=True) if log else None,
        log_first=log,
    )


def _drawing(
    curve: LoadCurve, marks: Sequence[_Mark], palette: Palette, *, log: bool
) -> alt.LayerChart:
    import altair as alt

    domain = log_domain([mark.ns for mark in marks])
    y = latency_axis("ns", domain)
    rates = [mark.iops for mark in marks] or [1.0]
    span = log_domain(rates, [(max(rates), 0.1)]) if log else [0, max(rates) * _ROOM]
    x = value_axis("x", "iops", "iops", span, log=log, ticks=5)
    base = chart_of(mark._asdict() for mark in marks)
    colour = palette.direction(curve.direction)
    line = base.mark_line(strokeWidth=1.5, color=colour, aria=False).encode(
        x=x,
        y=y,
        order=alt.Order("load:Q"),
        strokeDash=stroke_scale(alt.StrokeDash, "which", _DASHES, None),
    )
    carried = {
        "shape": stroke_scale(alt.Shape, "which", _SHAPES, None),
        "description": alt.Description("words:N"),
    }
    served = (
        base.transform_filter("!datum.saturated")
        .mark_point(filled=True, size=52, color=colour, opacity=1)
        .encode(x=x, y=y, **carried)
    )
    over = (
        base.transform_filter("datum.saturated")
        .mark_point(filled=False, size=52, color=colour, opacity=1, strokeWidth=1.8)
        .encode(x=x, y=y, **carried)
    )
    layers: list[Any] = [line, served, over, *_labels(curve, marks, palette, x, domain)]
    return layered(layers, WIDTH, HEIGHT)


def _labels(
    curve: LoadCurve,
    marks: Sequence[_Mark],
    palette: Palette,
    x: alt.X,
    domain: list[float],
) -> list[Any]:
    """Labels at the points: the load below a point, or to its right on the vertical end of the
    curve; and the name of each line above its first point."""
    import altair as alt

    span = math.log(domain[1] / domain[0])

    def height(ns: float) -> float:
        return HEIGHT * (1 - math.log(ns / domain[0]) / span)

    top = max((mark.iops for mark in marks), default=0.0)
    texts: dict[str, list[dict[str, Any]]] = {"below": [], "right": [], "above": []}
    for mark in sorted(marks, key=lambda mark: -height(mark.ns)):
        at = height(mark.ns)
        first = mark.load == curve.points[0].load
        if first:
            texts["above"].append({"iops": mark.iops, "at": at - 8, "text": mark.which})
        if mark.which != "p50":
            continue
        side = "right" if mark.iops > _CROWDED * top and not first else "below"
        if side == "below":
            at += 8
        elif texts["right"]:  # keep its distance from the label below it
            at = min(at, texts["right"][-1]["at"] - _LINE_PX)
        texts[side].append({"iops": mark.iops, "at": at, "text": mark.text})
    styles: dict[str, dict[str, Any]] = {
        "below": {"align": "center", "baseline": "top"},
        "right": {"align": "left", "baseline": "middle", "dx": 8},
        "above": {"align": "center", "baseline": "bottom"},
    }
    return [
        chart_of(rows)
        .mark_text(color=palette.ink, fontSize=11, aria=False, **styles[side])
        .encode(x=x, y=alt.Y("at:Q", scale=None, axis=None), text=alt.Text("text:N"))
        for side, rows in texts.items()
        if rows
    ]


def _mark(curve: LoadCurve, point: LoadPoint, name: str, ns: float) -> _Mark:
    offered = "offered" if curve.offered else "in flight"
    parts = [
        f"{point.step} · {point.words} {offered if curve.offered else ''}".strip(),
        f"{bare('iops', point.iops)} IOPS",
        f"{name} {bare('lat_ns', ns)}",
        "saturated" if point.saturated else "",
        f"n = {curve.runs} run{'' if curve.runs == 1 else 's'}",
    ]
    return _Mark(
        iops=point.iops,
        ns=ns,
        which=name,
        load=point.load,
        saturated=point.saturated,
        text=point.words.removeprefix("QD "),
        words=" · ".join(word for word in parts if word),
    )


def _subtitle(curve: LoadCurve) -> str:
    asked = "share of the capacity that was offered" if curve.offered else "I/Os in flight"
    runs = (
        f"median of n = {curve.runs} runs on one disk, no interval"
        if curve.runs > 1
        else "no interval (n = 1 run)"
    )
    parts = [f"latency (logarithmic) over IOPS reached; numbers: {asked}"]
    if any(point.saturated for point in curve.points):
        parts.append("hollow: saturated, more load only adds latency")
    return "; ".join([*parts, runs])


def _sentence(curve: LoadCurve) -> str:
    """The alternative text: the first and the last load, and the last before saturation."""
    served = [point for point in curve.points if not point.saturated]
    chosen = dict.fromkeys([curve.points[0], *(served[-1:]), curve.points[-1]])
    parts = [
        f"{point.words} reached {bare('iops', point.iops)} IOPS"
        + (f" at p50 {bare('lat_ns', point.p50_ns)}" if point.p50_ns else "")
        + (" (saturated)" if point.saturated else "")
        for point in chosen
    ]
    return f"{curve.name} {curve.direction}: {'; '.join(parts)}."


@chart(
    "load",
    title="latency against throughput: the load beyond which only latency grows",
    needs="the evidence of one run",
    rank=60,
)
def _of_run(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    for curve in data.load_curves[:MOST_CURVES]:
        yield load_chart(curve, palette)
