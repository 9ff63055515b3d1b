"""Latency against throughput: shows where more load only adds latency."""

from __future__ import annotations

from collections.abc import Iterator

from diskbench.report.assemble.chart_data import ChartData
from diskbench.report.assemble.latencies import LoadCurve, LoadPoint
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import layer, layered, placed
from diskbench.report.charts.measure import (
    Spec,
    amount,
    bare,
    by_name,
    latency_axis,
    log_domain,
    named,
    value_axis,
    wants_log,
)
from diskbench.report.charts.palette import MUTED, OF_DIRECTION
from diskbench.report.charts.point import Row
from diskbench.report.charts.registry import chart

MOST_CURVES = 2
"""The most families of steps with a curve in one report."""
WIDTH = 300
HEIGHT = 170
_SHAPES = {"p50": "circle", "p99": "diamond"}
_DASHES = {"p50": [1, 0], "p99": [5, 2]}


def load_chart(curve: LoadCurve) -> ChartFigure:
    """p50 and p99 over the reached IOPS, one point per load, in the order of the loads.

    Points are labelled with their load; saturated ones are hollow.
    """
    rates = [point.iops for point in curve.points]
    log = wants_log(rates)
    asked = "share of the capacity that was offered" if curve.offered else "I/Os in flight"
    runs = f"median of n = {curve.runs} runs on one disk, no interval"
    parts = [f"latency (logarithmic) over IOPS reached; numbers: {asked}"]
    if any(point.saturated for point in curve.points):
        parts.append("hollow: saturated, more load only adds latency")
    parts.append(runs if curve.runs > 1 else "no interval (n = 1 run)")
    kind = "offered" if curve.offered else "depth"
    return ChartFigure(
        title=f"{curve.name} {curve.direction}: latency against throughput",
        subtitle="; ".join(parts),
        drawing=lambda log: _drawing(curve, log=log),
        id=f"load-{curve.name.replace(' ', '-')}-{curve.direction}-{kind}",
        alt=_sentence(curve),
        log=log or None,
    )


def _drawing(curve: LoadCurve, *, log: bool) -> Spec:
    marks = [
        _mark(curve, point, name, ns)
        for point in curve.points
        for name, ns in (("p50", point.p50_ns), ("p99", point.p99_ns))
        if ns
    ]
    rates = [mark["iops"] for mark in marks] or [1.0]
    domain = log_domain(rates) if log else [0.0, max(rates) * 1.06]
    at = {
        "x": value_axis("iops", "iops", domain, log=log, ticks=5),
        "y": latency_axis("ns", log_domain(mark["ns"] for mark in marks)),
    }
    legend = {"orient": "top", "title": None, "symbolStrokeWidth": 0, "symbolFillColor": MUTED}
    along = {"order": amount("load"), "strokeDash": by_name("which", _DASHES, legend)}
    told = {"shape": by_name("which", _SHAPES, legend), "description": named("words")}
    colour = OF_DIRECTION[curve.direction]
    layers = [
        layer("line", marks, at | along, strokeWidth=1.5, color=colour),
        *(
            layer("point", [mark for mark in marks if mark["saturated"] is hollow], at | told,
                  filled=not hollow, strokeWidth=1.8, size=52, color=colour, opacity=1)
            for hollow in (False, True)
        ),
        placed([mark for mark in marks if mark["which"] == "p50"], at, "below"),
    ]  # fmt: skip
    return layered(layers, WIDTH, HEIGHT)


def _mark(curve: LoadCurve, point: LoadPoint, name: str, ns: float) -> Row:
    parts = [
        f"{point.step} · {point.words}{' offered' if curve.offered else ''}",
        f"{bare('iops', point.iops)} IOPS",
        f"{name} {bare('lat_ns', ns)}",
        "saturated" if point.saturated else "",
        f"n = {curve.runs} run{'' if curve.runs == 1 else 's'}",
    ]
    return {
        "iops": point.iops,
        "ns": ns,
        "which": name,
        "load": point.load,
        "saturated": point.saturated,
        "text": point.words.removeprefix("QD "),
        "words": " · ".join(word for word in parts if word),
    }


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
def _of_run(data: ChartData) -> Iterator[ChartFigure]:
    for curve in data.load_curves[:MOST_CURVES]:
        yield load_chart(curve)
