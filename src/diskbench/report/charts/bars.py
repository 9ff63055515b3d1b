"""One figure of many disks, the fastest on top, with own runs below the published figures; and
several figures of the same disks in panels, so that no lines cross and every number is beside its
mark. On a logarithmic axis the length of a bar has no meaning, so each value is a dot."""

from collections.abc import Sequence
from statistics import median

from diskbench.parallel import grouped
from diskbench.report.charts import measure
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import along, brackets, described, dots, layer, layered
from diskbench.report.charts.measure import Spec
from diskbench.report.charts.palette import GRID, INK
from diskbench.report.charts.point import (
    ChartPoint,
    Lanes,
    Row,
    is_own,
    lane_axis,
    lane_rows,
    lanes_of,
    machine_values,
    provider_colour,
    subtitle,
)
from diskbench.units import counted

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
    spans = any(point.low is not None for point in points if point.source == "published")
    extremes = "shortest to longest" if metric.endswith("_ns") else "lowest to highest"
    least, best = (of(points, key=lambda point: point.value) for of in (min, max))
    ends = (f"{one.label} with {measure.with_unit(metric, one.value)}" for one in (least, best))
    lanes = lanes_of(points, ranked=ranked)
    return ChartFigure(
        title=heading,
        subtitle=subtitle(points, measure.title(metric)) + (f"; line: {extremes}" if spans else ""),
        drawing=lambda log: _panel(lanes, log=log),
        id=name,
        alt=f"{heading}: {len({point.label for point in points})} disks, from {' to '.join(ends)}.",
        log=log if min(values) > 0 else None,
    )


def _panel(
    lanes: Lanes, *, log: bool, width: int = WIDTH, labelled: bool = True, **more: object
) -> Spec:
    """Points of one metric in their rows; a row without points is marked as missing. `labelled`:
    this panel shows the labels and the legend; otherwise a panel beside it does."""
    points = [point for of_lane in lanes.values() for point in of_lane]
    metric, values = points[0].metric, _extent(points)
    domain = measure.log_domain(values) if log else [0.0, max(values) or 1.0]
    brief = width < _ROOMY
    y = lane_axis(lanes, labelled=labelled)
    at = along(y, metric, domain, clamp=True, log=log, ticks=2 if brief else 4)
    rows = lane_rows(lanes)
    published = [row for row in rows if row["source"] == "published"]
    bars = published or rows
    of_source = [point for point in points if point.source == bars[0]["source"]]
    colour = {"color": provider_colour(of_source, legend=labelled)}
    spans = [row for row in rows if row["low"] is not None and (row["low"] > 0 or not log)]
    words: list[Row] = []
    for name, of_lane in lanes.items():
        end = max(_extent(of_lane), default=domain[0])
        words.append({"row": name, "at": end, "text": _end_of_row(of_lane, name, brief=brief)})
    if log:
        led = [row | {"from": domain[0]} for row in bars]
        dotted = {"color": GRID, "strokeDash": [1, 3], "strokeWidth": 1.5}
        layers = [
            layer("rule", led, at("from", "value"), **dotted),
            *dots(bars, at("value") | colour, size=80),
        ]
    else:
        ends = at("value") | colour
        ends["x"]["stack"] = None  # bars of one disk lie over each other
        hollow = {"filled": False, "strokeWidth": 1.5, "strokeDash": [3, 2]}
        layers = [
            described("bar", [row for row in bars if not row["doubted"]], ends, height=_BAR),
            described("bar", [row for row in bars if row["doubted"]], ends, height=_BAR, **hollow),
        ]
    layers.append(layer("rule", spans, at("low", "high"), color=INK, strokeWidth=1.5))
    if published:
        own = [row for row in rows if row["source"] == "measured"]
        layers += dots(own, at("value"), size=85, color=INK, opacity=0.9)
    layers += brackets(lanes, at)
    layers.append(layer("text", words, at("at"), align="left", dx=8, color=INK))
    return layered(layers, width, measure.row_height(lanes, ROW) * len(lanes), **more)


def _suits_log(values: Sequence[float]) -> bool:
    """Whether values span two decades, or one dwarfs the others: whole bars of those would be too
    short to compare."""
    dwarfs = len(values) >= _LEAST and max(values) > DWARFS * median(values)
    return min(values) > 0 and (measure.wants_log(values) or dwarfs)


def _extent(points: Sequence[ChartPoint]) -> list[float]:
    values = [value for point in points for value in (point.value, point.low, point.high)]
    return [value for value in values if value is not None]


def _end_of_row(points: Sequence[ChartPoint], name: str, *, brief: bool) -> str:
    """The text at the end of a row: `3,100`, of own runs `3,100 (n = 3 runs)`, and of several of
    them their median: `3,100 (n = 7 machines)`."""
    if not points:
        return "" if is_own(name) else "not stated"
    first = points[0]
    if first.source == "published":
        return measure.bare(first.metric, first.value)
    values = machine_values(points)
    machines = f"n = {counted(len(values), 'machine')}"
    n = machines if len(points) > 1 else first.sample.rpartition(" of ")[2]
    return measure.bare(first.metric, median(values)) + ("" if brief else f" ({n})")


PANEL_WIDTH = 108


def multiples_chart(
    points: Sequence[ChartPoint], *, name: str, heading: str, by_instance: bool = False
) -> ChartFigure:
    """A panel for each metric and direction in order of appearance, or for each instance type (then
    all points must have one metric). Raises ValueError for no points."""

    def panel_of(point: ChartPoint) -> str:
        return point.instance if by_instance else measure.title(point.metric, point.direction)

    panels = grouped(points, panel_of)
    if not panels:
        raise ValueError("no points to draw")
    lanes = lanes_of(points, ranked=False)
    log = any(_suits_log([point.value for point in of_panel]) for of_panel in panels.values())
    log = log and all(point.value > 0 for point in points)
    most = {panel: max(of, key=lambda point: point.value) for panel, of in panels.items()}
    best = [
        f"most {panel}: {one.label} with {measure.with_unit(one.metric, one.value)}"
        for panel, one in most.items()
    ]

    def drawing(log: bool) -> Spec:
        drawn: list[Spec] = []
        for panel in panels:
            of_panel = {name: [p for p in of if panel_of(p) == panel] for name, of in lanes.items()}
            first, above = not drawn, measure.panel_title(panel)
            drawn.append(_panel(of_panel, log=log, width=PANEL_WIDTH, labelled=first, title=above))
        return {"hconcat": drawn, "spacing": 14}

    units = measure.title(points[0].metric) if by_instance else " · ".join(panels)
    return ChartFigure(
        title=heading,
        subtitle=subtitle(points, units),
        drawing=drawing,
        id=name,
        alt=f"{heading}: {'; '.join(best)}.",
        log=log or None,
    )
