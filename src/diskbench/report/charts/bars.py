"""One figure of many disks, the fastest on top, with own runs below the published figures; and
several figures of the same disks side by side, each on an axis of its own.

Bars start at zero on a linear axis. On a logarithmic axis the length of a bar has no meaning, so
each value is a dot.

Panels replace a chart with two axes: rows are disks, panels are figures (IOPS, read, write), so
that no lines cross and every number is beside its mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import dots, layer, layered
from diskbench.report.charts.measure import (
    Channel,
    Spec,
    bare,
    log_domain,
    named,
    title,
    value_axis,
    wants_log,
    with_unit,
)
from diskbench.report.charts.palette import ACCENT, GRID, INK
from diskbench.report.charts.point import (
    ChartPoint,
    Lanes,
    carried,
    is_own,
    lane_axis,
    lane_rows,
    lanes_of,
    middle,
    provider_colour,
    subtitle,
)

WIDTH = 245
ROW = 22
DWARFS, _LEAST = 5.0, 6
"""The highest of so many values or more dwarfs the others from this multiple of their median on.
Our choices."""
_BAR = 13
_ROOMY = 200
"""Narrower panels show n only in the subtitle."""


def bars_chart(
    points: Sequence[ChartPoint], *, name: str, heading: str, ranked: bool = True
) -> ChartFigure:
    """Points of one metric. Own points are in a row below the published point of the same label.

    Raises ValueError for points of several metrics, or none.
    """
    (metric,) = {point.metric for point in points}
    values = _extent(points)
    log = _suits_log(values)
    ends = any(point.low is not None for point in points if point.source == "published")
    extremes = "shortest to longest" if metric.endswith("_ns") else "lowest to highest"
    best = max(points, key=lambda point: point.value)
    least = min(points, key=lambda point: point.value)
    lanes = lanes_of(points, ranked=ranked)
    return ChartFigure(
        title=heading,
        subtitle=subtitle(points, title(metric)) + (f"; line: {extremes}" if ends else ""),
        drawing=lambda log: _panel(lanes, log=log),
        id=name,
        alt=f"{heading}: {len({point.label for point in points})} disks, from {least.label} with "
        f"{with_unit(metric, least.value)} to {best.label} with {with_unit(metric, best.value)}.",
        log=log if min(values) > 0 else None,
    )


def _panel(
    lanes: Lanes, *, log: bool, width: int = WIDTH, labelled: bool = True, **more: object
) -> Spec:
    """Points of one metric in their rows; a row without points is marked as missing.

    `labelled`: this panel shows the labels and the legend; otherwise a panel beside it does.
    """
    points = [point for of_lane in lanes.values() for point in of_lane]
    metric, values = points[0].metric, _extent(points)
    domain = log_domain(values) if log else [0.0, max(values) or 1.0]
    brief = width < _ROOMY
    y = lane_axis(lanes, labelled=labelled)

    def at(field: str, to: str = "") -> dict[str, Channel]:
        x = value_axis(field, metric, domain, log=log, ticks=2 if brief else 4)
        x["scale"]["clamp"] = True
        return {"x": x, "y": y} | ({"x2": {"field": to}} if to else {})

    rows = lane_rows(lanes)
    published = [row for row in rows if row["source"] == "published"]
    bars = published or rows
    colour = {
        "color": provider_colour(
            [point for point in points if point.source == bars[0]["source"]], legend=labelled
        )
    }
    spans = [row for row in bars if row["low"] is not None and (row["low"] > 0 or not log)]
    words = [
        {
            "row": name,
            "at": max(_extent(of_lane), default=domain[0]),
            "text": _words(of_lane, name, brief=brief),
        }
        for name, of_lane in lanes.items()
    ]
    if log:
        led = [row | {"from": domain[0]} for row in bars]
        layers = [
            layer("rule", led, at("from", "value"), color=GRID, strokeDash=[1, 3],
                  strokeWidth=1.5),
            *dots(bars, at("value") | colour, size=80),
        ]  # fmt: skip
    else:
        ends = at("value") | colour | carried(bars)
        ends["x"]["stack"] = None  # bars of one disk lie over each other
        hollow = {"filled": False, "strokeWidth": 1.5, "strokeDash": [3, 2]}
        layers = [
            layer("bar", [row for row in bars if not row["doubted"]], ends, height=_BAR),
            layer("bar", [row for row in bars if row["doubted"]], ends, height=_BAR, **hollow),
        ]
    layers.append(layer("rule", spans, at("low", "high"), color=INK, strokeWidth=1.5))
    if published:
        own = [row for row in rows if row["source"] == "measured"]
        ranges = [row for row in own if row["low"] is not None and row["high"] is not None]
        brackets = [
            {"row": name, "from": interval[0], "to": interval[1]}
            for name, of_lane in lanes.items()
            if of_lane[:1] and of_lane[0].source == "measured"
            and (interval := middle(of_lane).interval)
        ]  # fmt: skip
        sides = [{"row": row["row"], "at": row[end]} for row in brackets for end in ("from", "to")]
        layers += [
            layer("rule", ranges, at("low", "high"), color=INK, strokeWidth=1.5),
            *dots(own, at("value"), size=85, color=INK, opacity=0.9),
            layer("tick", sides, at("at"), color=ACCENT, thickness=2.5, size=15,
                  orient="vertical"),
            layer("rule", brackets, at("from", "to"), color=ACCENT, strokeWidth=1.5),
        ]  # fmt: skip
    told = at("at") | {"text": named("text")}
    layers.append(layer("text", words, told, align="left", dx=8, color=INK))
    return layered(layers, width, ROW * len(lanes), **more)


def _suits_log(values: Sequence[float]) -> bool:
    """Whether values span two decades, or one dwarfs the others: whole bars of those would be too
    short to compare."""
    dwarfs = len(values) >= _LEAST and max(values) > DWARFS * median(values)
    return min(values) > 0 and (wants_log(values) or dwarfs)


def _extent(points: Sequence[ChartPoint]) -> list[float]:
    values = [value for point in points for value in (point.value, point.low, point.high)]
    return [value for value in values if value is not None]


def _words(points: Sequence[ChartPoint], name: str, *, brief: bool) -> str:
    """The text at the end of a row: `3,100`, of own runs `3,100 (n = 3 runs)`, and of several of
    them their median: `3,100 (n = 7 machines)`."""
    if not points:
        return "" if is_own(name) else "not stated"
    first = points[0]
    if first.source == "published":
        return bare(first.metric, first.value)
    centre = middle(points)
    value = bare(first.metric, centre.value)
    if brief:
        return value
    if len(points) > 1:
        return f"{value} (n = {centre.machines} machine{'' if centre.machines == 1 else 's'})"
    return f"{value} ({first.sample.rpartition(' of ')[2]})"


PANEL_WIDTH = 108


def multiples_chart(
    points: Sequence[ChartPoint], *, name: str, heading: str, by_instance: bool = False
) -> ChartFigure:
    """A panel for each metric and direction in order of appearance, or for each instance type (then
    all points must have one metric).

    Raises ValueError for no points.
    """

    def panel_of(point: ChartPoint) -> str:
        return point.instance if by_instance else title(point.metric, point.direction)

    panels: dict[str, list[ChartPoint]] = {}
    for point in points:
        panels.setdefault(panel_of(point), []).append(point)
    if not panels:
        raise ValueError("no points to draw")
    lanes = lanes_of(points, ranked=False)
    log = any(_suits_log([point.value for point in of_panel]) for of_panel in panels.values())
    log = log and all(point.value > 0 for point in points)
    best = [
        f"most {panel}: {most.label} with {with_unit(most.metric, most.value)}"
        for panel, of_panel in panels.items()
        for most in [max(of_panel, key=lambda point: point.value)]
    ]

    def drawing(log: bool) -> Spec:
        drawn = [
            _panel(
                {name: [one for one in of if panel_of(one) == panel] for name, of in lanes.items()},
                log=log,
                width=PANEL_WIDTH,
                labelled=not place,
                title={"text": panel, "anchor": "start", "frame": "group", "offset": 6},
            )
            for place, panel in enumerate(panels)
        ]
        return {"hconcat": drawn, "spacing": 14}

    units = title(points[0].metric) if by_instance else " · ".join(panels)
    return ChartFigure(
        title=heading,
        subtitle=subtitle(points, units),
        drawing=drawing,
        id=name,
        alt=f"{heading}: {'; '.join(best)}.",
        log=log or None,
    )
