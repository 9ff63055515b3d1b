"""One figure of many disks, the fastest on top, with own runs below the published figures; and
several figures of the same disks side by side, each on an axis of its own.

Bars start at zero on a linear axis; the bar of a value that dwarfs the rest is cut and marked as
cut. On a logarithmic axis the length of a bar has no meaning, so each value is a dot.

Panels replace a chart with two axes: rows are disks, panels are figures (IOPS, read, write), so
that no lines cross and every number is beside its mark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import chart_of, dots, layered, own_layers, own_text, value_axis
from diskbench.report.charts.measure import (
    CHARACTER_PX,
    bare,
    linear_domain,
    log_domain,
    title,
    wants_log,
    with_unit,
)
from diskbench.report.charts.palette import Palette
from diskbench.report.charts.point import (
    ChartPoint,
    Lanes,
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

if TYPE_CHECKING:
    import altair as alt


WIDTH = 300
ROW = 22
_BAR = 13
_BROKEN = 1.25
_CUT = (1.06, 1.10)
"""Where a cut bar is interrupted and where it continues, as multiples of the largest whole bar."""
_TEXT_GAP = 14
_ROOMY = 200
"""Narrower panels show n only in the subtitle."""


@dataclass(frozen=True)
class _Scale:
    """The axis of a drawing: its bounds, and the value up to which bars are whole (None: all)."""

    metric: str
    log: bool
    domain: tuple[float, float]
    whole_up_to: float | None
    ticks: int = 4

    def drawn(self, value: float) -> float:
        """The position of a value on the axis."""
        if self.whole_up_to is None or value <= self.whole_up_to:
            return value
        return self.whole_up_to * _BROKEN

    def x(self, field: str) -> alt.X:
        """The horizontal position of a field of the rows."""
        axis: alt.X = value_axis(
            "x", field, self.metric, self.domain, log=self.log, ticks=self.ticks
        )
        return axis


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
    can_log = min(values) > 0 and (log or bool(broken))
    return ChartFigure(
        title=heading,
        subtitle=_subtitle(points, metric),
        drawing=panel(points, palette, lanes),
        id=name,
        alt=_sentence(points, metric, heading),
        log_drawing=panel(points, palette, lanes, log=True) if can_log else None,
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
) -> alt.LayerChart:
    """Points of one metric in their rows; a row without points is marked as missing.

    `labelled`: this panel shows the labels and the legend; otherwise a panel beside it does.
    """
    import altair as alt

    metric = points[0].metric
    published, own = of_source(points, "published"), of_source(points, "measured")
    by_lane = in_lanes(points, lanes)
    texts = {name: _words(of_lane, name, brief=width < _ROOMY) for name, of_lane in by_lane.items()}
    scale = _scale(by_lane, texts, metric, log=log, width=width)
    y = lanes.axis(labelled=labelled)
    layers: list[Any] = []
    bars = published or own
    if bars:
        rows = [row(bar) | {"row": lanes.of(bar)} for bar in bars]
        colour = provider_colour(bars, palette, legend=labelled)
        layers += (_dots if log else _bars)(rows, scale, y, colour, palette)
    layers += own_layers(own if published else (), lanes.of, scale.x, scale.drawn, y, palette)
    least = scale.domain[0]
    words = [
        {
            "row": name,
            "at": max(map(scale.drawn, _extent(of_lane)), default=least),
            "text": texts[name],
        }
        for name, of_lane in by_lane.items()
    ]
    marks = chart_of(words).mark_text(align="left", dx=8, color=palette.ink, aria=False)
    layers.append(marks.encode(x=scale.x("at"), text=alt.Text("text:N"), y=y))
    return layered(layers, width, ROW * len(lanes.names))


def _scale(
    by_lane: Mapping[str, Sequence[ChartPoint]],
    texts: Mapping[str, str],
    metric: str,
    *,
    log: bool,
    width: int,
) -> _Scale:
    by_lane = {name: of_lane for name, of_lane in by_lane.items() if of_lane}
    room = {name: (CHARACTER_PX * len(texts[name]) + _TEXT_GAP) / width for name in by_lane}
    values = [value for of_lane in by_lane.values() for value in _extent(of_lane)]
    if log:
        ends = [(max(_extent(of_lane)), room[name]) for name, of_lane in by_lane.items()]
        low, high = log_domain(values, ends)
        return _Scale(metric, log=True, domain=(low, high), whole_up_to=None)
    highest, broken = rest_and_outliers(values)
    scale = _Scale(metric, log=False, domain=(0.0, 1.0), whole_up_to=highest if broken else None)
    drawn = {name: max(map(scale.drawn, _extent(of_lane))) for name, of_lane in by_lane.items()}
    top = linear_domain(max(drawn.values()), [(drawn[name], room[name]) for name in drawn])[1]
    return replace(scale, domain=(0.0, top), ticks=4 if width >= _ROOMY else 2)


def _bars(
    rows: Sequence[dict[str, Any]], scale: _Scale, y: alt.Y, colour: alt.Color, palette: Palette
) -> list[Any]:

    import altair as alt

    layers: list[Any] = []
    for doubted in (False, True):
        pieces = [
            piece for row in rows if row["doubted"] is doubted for piece in _pieces(row, scale)
        ]
        chart = chart_of(pieces)
        bars = (
            chart.mark_bar(height=_BAR, filled=False, strokeWidth=1.5, strokeDash=[3, 2])
            if doubted
            else chart.mark_bar(height=_BAR)
        )
        if pieces:
            layers.append(
                bars.encode(
                    x=scale.x("from"), x2=alt.X2("to:Q"), y=y, color=colour, **carried(pieces)
                )
            )
    return [*layers, *_spans(rows, scale, y, palette)]


def _pieces(bar: dict[str, Any], scale: _Scale) -> list[dict[str, Any]]:
    """A whole bar, or both parts of a cut bar."""
    end, unbroken = scale.drawn(bar["value"]), scale.whole_up_to
    if end == bar["value"] or unbroken is None:
        return [bar | {"from": 0.0, "to": end}]
    return [
        bar | {"from": 0.0, "to": unbroken * _CUT[0]},
        bar | {"from": unbroken * _CUT[1], "to": end},
    ]


def _dots(
    rows: Sequence[dict[str, Any]], scale: _Scale, y: alt.Y, colour: alt.Color, palette: Palette
) -> list[Any]:

    import altair as alt

    led = [row | {"from": scale.domain[0]} for row in rows]
    lead = chart_of(led).mark_rule(
        color=palette.grid, strokeDash=[1, 3], strokeWidth=1.5, aria=False
    )
    layers: list[Any] = [lead.encode(x=scale.x("from"), x2=alt.X2("value:Q"), y=y)]
    encode = {"x": scale.x("value"), "y": y, "color": colour}
    layers += dots(rows, size=80, encode=encode, opacity=1, strokeWidth=2)
    return [*layers, *_spans(rows, scale, y, palette)]


def _spans(rows: Sequence[dict[str, Any]], scale: _Scale, y: alt.Y, palette: Palette) -> list[Any]:
    """Lines from the lowest to the highest value, if both are known and the bar is whole."""
    import altair as alt

    known = [
        row
        for row in rows
        if row["low"] is not None and scale.drawn(row["high"]) == row["high"]
        and (row["low"] > 0 or not scale.log)
    ]  # fmt: skip
    if not known:
        return []
    rule = chart_of(known).mark_rule(color=palette.ink, strokeWidth=1.5, aria=False)
    return [rule.encode(x=scale.x("low"), x2=alt.X2("high:Q"), y=y)]


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


PANEL_WIDTH = 130
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
        drawing=_panels_drawing(panels, palette, lanes, log=False),
        id=name,
        alt=_panels_sentence(panels, heading),
        log_drawing=_panels_drawing(panels, palette, lanes, log=True) if log and positive else None,
        log_first=log and positive,
    )


def _panels_drawing(
    panels: dict[Panel, list[ChartPoint]], palette: Palette, lanes: Lanes, *, log: bool
) -> alt.TopLevelMixin:
    import altair as alt

    drawn: list[Any] = []
    for place, (key, of_panel) in enumerate(panels.items()):
        drawing = panel(of_panel, palette, lanes, log=log, width=PANEL_WIDTH, labelled=not place)
        words = alt.TitleParams(_panel_heading(key), anchor="start", frame="group", offset=6)
        drawn.append(drawing.properties(title=words))
    return alt.hconcat(*drawn, spacing=14)


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
