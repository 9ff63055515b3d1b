"""Layers that charts share: value axes, line legends, marks by source, intervals, and invisible
marks that carry text for pointer, keyboard and screen reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from diskbench.report.charts.measure import axis, powers_within
from diskbench.report.charts.rows import carried, drawn_rows

if TYPE_CHECKING:
    import altair as alt

    from diskbench.report.charts.palette import Palette

SHAPES = {"published": "circle", "measured": "diamond"}
"""The mark of each source of a figure."""


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
    import altair as alt

    layers = []
    for doubted in (False, True):
        kind = [row for row in rows if row["doubted"] is doubted]
        if kind:
            made = alt.Chart(drawn_rows(kind)).mark_point(filled=not doubted, size=size, **mark)
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
    import altair as alt

    if not rows:
        return []
    rule = alt.Chart(drawn_rows(list(rows))).mark_rule(
        color=palette.accent, strokeWidth=wide, aria=False
    )
    return [rule.encode(**encode)]


def columns(
    rows: Sequence[dict[str, Any]], palette: Palette, encode: Mapping[str, Any]
) -> alt.Chart:
    """Invisible rectangles that give their `words` to a pointer or a screen reader."""
    import altair as alt

    rects = alt.Chart(drawn_rows(list(rows))).mark_rect(fillOpacity=0, color=palette.ink)
    chart: alt.Chart = rects.encode(description=alt.Description("words:N"), **encode)
    return chart
