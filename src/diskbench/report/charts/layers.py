"""Layers that charts share: value axes, line legends, marks by source, intervals, own runs over
published figures, and invisible marks that carry text for pointer, keyboard and screen reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from diskbench.report.charts.measure import axis, bare, powers_within
from diskbench.report.charts.palette import Palette
from diskbench.report.charts.point import ChartPoint, Row, carried, middle, row

if TYPE_CHECKING:
    import altair as alt


SHAPES = {"published": "circle", "measured": "diamond"}
"""The mark of each source of a figure."""


def chart_of(rows: Iterable[Row]) -> alt.Chart:
    """A chart of rows. altair copies a list with all its rows for each layer and each chart around
    it, and hands on a tuple: such copies were a third of the time of a chart of 100 runs."""
    import altair as alt

    data: Any = {"values": tuple(rows)}
    return alt.Chart(data)


def layered(layers: Iterable[Any], width: int, height: int, **options: Any) -> alt.LayerChart:  # noqa: ANN401 - altair's
    """Layers above each other, with the size of the plot in pixels."""
    import altair as alt

    chart: alt.LayerChart = alt.LayerChart(layer=list(layers)).properties(
        width=width, height=height, **options
    )
    return chart


def value_axis(
    channel: Literal["x", "y"],
    field: str,
    metric: str,
    domain: Sequence[float],
    *,
    log: bool = False,
    clamp: bool = False,
    **options: Any,  # noqa: ANN401 - altair's options of an axis
) -> Any:  # noqa: ANN401 - altair's X or Y
    """A quantitative axis over `domain`; a logarithmic one has its ticks at powers of ten."""
    import altair as alt

    if log:
        options = {"values": powers_within(domain)} | options
    kind: Any = "log" if log else "linear"
    more: dict[str, Any] = {"clamp": True} if clamp else {}
    scale = alt.Scale(type=kind, domain=list(domain), nice=False, **more)
    made = alt.X if channel == "x" else alt.Y
    return made(f"{field}:Q", scale=scale, axis=axis(metric, log=log, **options))


def latency_axis(
    field: str, domain: Sequence[float], *, clamp: bool = False, **options: bool
) -> alt.Y:
    """The vertical logarithmic axis of latencies; it has no title, because its labels have
    units."""
    axis: alt.Y = value_axis(
        "y", field, "lat_ns", domain, log=True, clamp=clamp, minExtent=34, title=None, **options
    )
    return axis


def stroke_legend(**more: Any) -> alt.Legend:  # noqa: ANN401 - altair's options
    """A legend of lines, above the plot."""
    import altair as alt

    return alt.Legend(orient="top", title=None, symbolType="stroke", symbolStrokeWidth=2, **more)


def stroke_scale(channel: Any, field: str, values: Mapping[str, Any], legend: Any) -> Any:  # noqa: ANN401 - altair's channels
    """A channel (colour, dash, shape) with one value per name, the same in every chart."""
    import altair as alt

    scale = alt.Scale(domain=list(values), range=list(values.values()))
    return channel(f"{field}:N", scale=scale, legend=legend)


def dots(
    rows: Sequence[dict[str, Any]],
    *,
    size: int,
    encode: Mapping[str, Any],
    **mark: Any,  # noqa: ANN401 - altair options of a mark
) -> list[alt.Chart]:
    """A mark per row (charts/rows.py) with its text, hollow if the figure is doubted."""

    layers = []
    for doubted in (False, True):
        kind = [row for row in rows if row["doubted"] is doubted]
        if kind:
            made = chart_of(kind).mark_point(filled=not doubted, size=size, **mark)
            layers.append(made.encode(**encode, **carried(kind)))
    return layers


def dots_by_source(
    rows: Sequence[dict[str, Any]],
    *,
    size: int,
    encode: Mapping[str, Any],
    colours: Mapping[str, str] | None = None,
) -> list[alt.Chart]:
    """The same, with a shape per source, and a colour per source if `colours` is given."""
    return [
        made
        for source, shape in SHAPES.items()
        for made in dots(
            [row for row in rows if row["source"] == source],
            size=size,
            encode=encode,
            shape=shape,
            opacity=1,
            strokeWidth=2,
            **({"color": colours[source]} if colours else {}),
        )
    ]


def interval_rule(
    rows: Sequence[dict[str, Any]], palette: Palette, encode: Mapping[str, Any], *, wide: float = 2
) -> list[alt.Chart]:
    """A line in the accent colour over each interval of a median (MR-6); empty without rows."""

    if not rows:
        return []
    rule = chart_of(list(rows)).mark_rule(color=palette.accent, strokeWidth=wide, aria=False)
    return [rule.encode(**encode)]


def columns(
    rows: Sequence[dict[str, Any]], palette: Palette, encode: Mapping[str, Any]
) -> alt.Chart:
    """Invisible rectangles that give their `words` to a pointer or a screen reader."""
    import altair as alt

    rects = chart_of(list(rows)).mark_rect(fillOpacity=0, color=palette.ink)
    chart: alt.Chart = rects.encode(description=alt.Description("words:N"), **encode)
    return chart


def own_layers(
    points: Sequence[ChartPoint],
    lane: Callable[[ChartPoint], str],
    x: Callable[[str], alt.X],
    drawn: Callable[[float], float],
    y: alt.Y,
    palette: Palette,
) -> list[Any]:
    """Marks of own points: `lane` returns a point's row, `x` encodes a field, `drawn` returns the
    position of a value on that axis."""
    import altair as alt

    if not points:
        return []
    rows = [
        row(point)
        | {
            "row": lane(point),
            "at": drawn(point.value),
            "from": drawn(point.value if point.low is None else point.low),
            "to": drawn(point.value if point.high is None else point.high),
        }
        for point in points
    ]
    base = chart_of(rows)
    span = base.mark_rule(color=palette.ink, strokeWidth=1.5, aria=False)
    layers: list[Any] = [span.encode(x=x("from"), x2=alt.X2("to:Q"), y=y)]
    marks = {"shape": SHAPES["measured"], "color": palette.ink, "opacity": 0.9}
    layers += dots(rows, size=85, encode={"x": x("at"), "y": y}, **marks)
    brackets = _brackets(points, lane, drawn)
    if brackets:
        for end in ("from", "to"):
            tick = chart_of(brackets).mark_tick(
                color=palette.accent, thickness=2.5, size=15, aria=False
            )
            layers.append(tick.encode(x=x(end), y=y))
        layers += interval_rule(
            brackets, palette, {"x": x("from"), "x2": alt.X2("to:Q"), "y": y}, wide=1.5
        )
    return layers


def own_text(points: Sequence[ChartPoint], *, brief: bool = False) -> str:
    """`3,100 (n = 3 runs)`, or for several points their median: `3,100 (n = 7 machines)`."""
    centre = middle(points)
    value = bare(points[0].metric, centre.value)
    if brief:
        return value
    if len(points) > 1:
        return f"{value} (n = {centre.machines} machine{'' if centre.machines == 1 else 's'})"
    return f"{value} ({points[0].sample.rpartition(' of ')[2]})"


def _brackets(
    points: Sequence[ChartPoint], lane: Callable[[ChartPoint], str], drawn: Callable[[float], float]
) -> list[dict[str, Any]]:
    lanes: dict[str, list[ChartPoint]] = {}
    for point in points:
        lanes.setdefault(lane(point), []).append(point)
    brackets = []
    for name, of_lane in lanes.items():
        interval = middle(of_lane).interval
        if interval:
            brackets.append({"row": name, "from": drawn(interval[0]), "to": drawn(interval[1])})
    return brackets
