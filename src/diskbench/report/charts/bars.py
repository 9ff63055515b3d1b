"""One figure of many disks, the fastest on top, with own runs below the published figures; and
several figures of the same disks side by side, each on an axis of its own.

Bars start at zero on a linear axis; the bar of a value that dwarfs the rest is cut and marked as
cut. On a logarithmic axis the length of a bar has no meaning, so each value is a dot.

Panels replace a chart with two axes: rows are disks, panels are figures (IOPS, read, write), so
that no lines cross and every number is beside its mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import dots, layer, layered, own_layers, own_text
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
from diskbench.report.charts.palette import Palette
from diskbench.report.charts.point import (
    ChartPoint,
    Lanes,
    Row,
    carried,
    in_lanes,
    is_own,
    lanes_of,
    of_source,
    provider_colour,
    rest_and_outliers,
    row,
    subtitle,
)

WIDTH = 245
ROW = 22
_BAR = 13
_BROKEN = 1.25
_CUT = (1.06, 1.10)
"""Where a cut bar is interrupted and where it continues, as multiples of the largest whole bar."""
_ROOMY = 200
"""Narrower panels show n only in the subtitle."""


@dataclass(frozen=True)
class _Scale:
    """The axis of a drawing: its bounds, and the value up to which bars are whole (None: all)."""

    metric: str
    domain: tuple[float, float]
    whole_up_to: float | None
    ticks: int
    log: bool = False

    def drawn(self, value: float) -> float:
        """The position of a value on the axis."""
        if self.whole_up_to is None or value <= self.whole_up_to:
            return value
        return self.whole_up_to * _BROKEN

    def x(self, field: str) -> Channel:
        """The horizontal position of a field of the rows."""
        return value_axis(field, self.metric, self.domain, log=self.log, ticks=self.ticks)


def bars_chart(
    points: Sequence[ChartPoint], palette: Palette, *, name: str, heading: str, ranked: bool = True
) -> ChartFigure:
    """Points of one metric. Own points are in a row below the published point of the same label.

    Raises ValueError for points of several metrics, or none.
    """
    (metric,) = {point.metric for point in points}
    values = _extent(points)
    _, broken = rest_and_outliers(values)
    log = wants_log(values) and min(values) > 0
    lanes = lanes_of(points, ranked=ranked)
    return ChartFigure(
        title=heading,
        subtitle=_subtitle(points, metric),
        drawing=lambda log: panel(points, palette, lanes, log=log),
        id=name,
        alt=_sentence(points, metric, heading),
        both=min(values) > 0 and (log or bool(broken)),
        log_first=log,
    )


def panel(
    points: Sequence[ChartPoint],
    palette: Palette,
    lanes: Lanes,
    *,
    log: bool = False,
    width: int = WIDTH,
    labelled: bool = True,
    **more: object,
) -> Spec:
    """Points of one metric in their rows; a row without points is marked as missing.

    `labelled`: this panel shows the labels and the legend; otherwise a panel beside it does.
    """
    brief = width < _ROOMY
    published, own = of_source(points, "published"), of_source(points, "measured")
    scale = _scale(points, log=log, ticks=2 if brief else 4)
    y = lanes.axis(labelled=labelled)
    colour = provider_colour(published or own, palette, legend=labelled)
    bars = [row(bar) | {"row": lanes.of(bar)} for bar in published or own]
    by_lane = in_lanes(points, lanes)
    words = [
        {
            "row": name,
            "at": max(map(scale.drawn, _extent(of_lane)), default=scale.domain[0]),
            "text": _words(of_lane, name, brief=brief),
        }
        for name, of_lane in by_lane.items()
    ]
    told = {"x": scale.x("at"), "y": y, "text": named("text")}
    layers = [
        *(_dots if log else _bars)(bars, scale, {"y": y, "color": colour}, palette),
        *(own_layers(in_lanes(own, lanes), scale.x, scale.drawn, y, palette) if published else ()),
        layer("text", words, told, align="left", dx=8, color=palette.ink),
    ]
    return layered(layers, width, ROW * len(lanes.names), **more)


def _scale(points: Sequence[ChartPoint], *, log: bool, ticks: int) -> _Scale:
    values = _extent(points)
    highest, broken = rest_and_outliers(values)
    if log:
        low, high = log_domain(values)
        return _Scale(points[0].metric, (low, high), None, ticks, log=True)
    top = highest * (_BROKEN if broken else 1)
    return _Scale(points[0].metric, (0.0, top or 1.0), highest if broken else None, ticks)


def _bars(
    rows: Sequence[Row], scale: _Scale, encoding: dict[str, Channel], palette: Palette
) -> list[Spec]:
    ends = {"x": scale.x("from"), "x2": {"field": "to"}, **encoding, **carried(rows)}
    pieces = [piece for row in rows for piece in _pieces(row, scale)]
    hollow = {"filled": False, "strokeWidth": 1.5, "strokeDash": [3, 2]}
    return [
        layer("bar", [row for row in pieces if not row["doubted"]], ends, height=_BAR),
        layer("bar", [row for row in pieces if row["doubted"]], ends, height=_BAR, **hollow),
        _spans(rows, scale, encoding["y"], palette),
    ]


def _pieces(bar: Row, scale: _Scale) -> list[Row]:
    """A whole bar, or both parts of a cut bar."""
    end, unbroken = scale.drawn(bar["value"]), scale.whole_up_to
    if end == bar["value"] or unbroken is None:
        return [bar | {"from": 0.0, "to": end}]
    return [
        bar | {"from": 0.0, "to": unbroken * _CUT[0]},
        bar | {"from": unbroken * _CUT[1], "to": end},
    ]


def _dots(
    rows: Sequence[Row], scale: _Scale, encoding: dict[str, Channel], palette: Palette
) -> list[Spec]:
    led = [row | {"from": scale.domain[0]} for row in rows]
    lead = {"x": scale.x("from"), "x2": {"field": "value"}, "y": encoding["y"]}
    return [
        layer("rule", led, lead, color=palette.grid, strokeDash=[1, 3], strokeWidth=1.5),
        *dots(rows, {"x": scale.x("value"), **encoding}, size=80),
        _spans(rows, scale, encoding["y"], palette),
    ]


def _spans(rows: Sequence[Row], scale: _Scale, y: Channel, palette: Palette) -> Spec:
    """Lines from the lowest to the highest value, if both are known and the bar is whole."""
    known = [
        row
        for row in rows
        if row["low"] is not None and scale.drawn(row["high"]) == row["high"]
        and (row["low"] > 0 or not scale.log)
    ]  # fmt: skip
    ends = {"x": scale.x("low"), "x2": {"field": "high"}, "y": y}
    return layer("rule", known, ends, color=palette.ink, strokeWidth=1.5)


def _extent(points: Sequence[ChartPoint]) -> list[float]:
    values = [value for point in points for value in (point.value, point.low, point.high)]
    return [value for value in values if value is not None]


def _words(points: Sequence[ChartPoint], name: str, *, brief: bool) -> str:
    """The text at the end of a row."""
    if not points:
        return "" if is_own(name) else "not stated"
    first = points[0]
    return (
        bare(first.metric, first.value)
        if first.source == "published"
        else own_text(points, brief=brief)
    )


def _subtitle(points: Sequence[ChartPoint], metric: str) -> str:
    ends = any(point.low is not None for point in points if point.source == "published")
    words = "shortest to longest" if metric.endswith("_ns") else "lowest to highest"
    return subtitle(points, title(metric)) + (f"; line: {words}" if ends else "")


def _sentence(points: Sequence[ChartPoint], metric: str, heading: str) -> str:
    best = max(points, key=lambda point: point.value)
    least = min(points, key=lambda point: point.value)
    count = len({point.label for point in points})
    return (
        f"{heading}: {count} disks, from {least.label} with {with_unit(metric, least.value)} "
        f"to {best.label} with {with_unit(metric, best.value)}."
    )


PANEL_WIDTH = 108
Panel = tuple[str, str]
"""A metric, and a direction or an instance type."""


def multiples_chart(
    points: Sequence[ChartPoint],
    palette: Palette,
    *,
    name: str,
    heading: str,
    ranked: bool = False,
    by_instance: bool = False,
) -> ChartFigure:
    """A panel for each metric and direction in order of appearance, or for each instance type (then
    all points must have one metric).

    Raises ValueError for no points.
    """
    panels: dict[Panel, list[ChartPoint]] = {}
    for point in points:
        key = (point.metric, point.instance if by_instance else point.direction)
        panels.setdefault(key, []).append(point)
    if not panels:
        raise ValueError("no points to draw")
    lanes = lanes_of(points, ranked=ranked)
    log = any(wants_log([point.value for point in points_of]) for points_of in panels.values())
    positive = all(point.value > 0 for point in points)
    units = " · ".join(dict.fromkeys(_panel_heading(key) for key in panels))
    if by_instance:
        units = title(points[0].metric)
    return ChartFigure(
        title=heading,
        subtitle=subtitle(points, units),
        drawing=lambda log: _panels_drawing(panels, palette, lanes, log=log),
        id=name,
        alt=_panels_sentence(panels, heading),
        both=log and positive,
        log_first=log and positive,
    )


def _panels_drawing(
    panels: dict[Panel, list[ChartPoint]], palette: Palette, lanes: Lanes, *, log: bool
) -> Spec:
    drawn = [
        panel(
            of_panel,
            palette,
            lanes,
            log=log,
            width=PANEL_WIDTH,
            labelled=not place,
            title={"text": _panel_heading(key), "anchor": "start", "frame": "group", "offset": 6},
        )
        for place, (key, of_panel) in enumerate(panels.items())
    ]
    return {"hconcat": drawn, "spacing": 14}


def _panel_heading(key: Panel) -> str:
    metric, direction = key
    if direction in ("read", "write", "total"):
        return title(metric) if direction == "total" else f"{direction} {title(metric)}"
    return direction


def _panels_sentence(panels: dict[Panel, list[ChartPoint]], heading: str) -> str:
    parts = []
    for key, of_panel in panels.items():
        best = max(of_panel, key=lambda point: point.value)
        parts.append(
            f"most {_panel_heading(key)}: {best.label} with {with_unit(key[0], best.value)}"
        )
    return f"{heading}: {'; '.join(parts)}."
