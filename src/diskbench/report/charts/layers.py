"""Layers that charts share, as Vega-Lite has them: marks of rows, intervals, placed labels, and
invisible marks that carry text for pointer, keyboard and screen reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from diskbench.report.charts.measure import Spec, by_name, named, value_axis, with_unit
from diskbench.report.charts.palette import ACCENT, INK
from diskbench.report.charts.point import OWN_MARK, ChartPoint, Row, carried, middle

At = Callable[..., dict[str, Spec]]
"""The places of a field on the axes of a chart, or of a stretch from one field to another."""
SHAPES = {"published": "circle", "measured": "diamond"}
"""The mark of each source of a figure."""
_AROUND = ((-7, 0), (7, 0), (0, -7), (0, 7), (-5, -5), (-5, 5), (5, -5), (5, 5))
"""Pixels around the centre of a dot that no label may cover: empty texts stand there."""


def layer(mark: str, rows: Iterable[Row], encoding: Mapping[str, Spec], **style: object) -> Spec:
    """A mark per row. Only marks with a description are told to a screen reader."""
    return {
        "data": {"values": list(rows)},
        "mark": {"type": mark, "aria": "description" in encoding, **style},
        "encoding": dict(encoding),
    }


def layered(layers: Iterable[Spec], width: int, height: int, **more: object) -> Spec:
    """Layers above each other, without those that have no rows, with the size of the plot in
    pixels."""
    drawn = [each for each in layers if each["data"]["values"]]
    return {"layer": drawn, "width": width, "height": height, **more}


def placed(rows: Sequence[Row], encoding: Mapping[str, Spec], where: str) -> Spec:
    """The `text` of each dot beside it, of dots with the same text at the first, where Vega finds
    room for it; else it is left out, and the mark's own text names it."""
    labels = list({row["text"]: row for row in reversed(rows)}.values())
    around = [row | {"text": "", "dx": dx, "dy": dy} for row in rows for dx, dy in _AROUND]
    text = {**encoding, "text": named("text")}
    told = [row | {"dx": 0, "dy": 0} for row in reversed(labels)]
    return layer("text", [*told, *around], text, style=f"placed-{where}", color=INK)


def dots(rows: Sequence[Row], encoding: Mapping[str, Spec], **mark: object) -> list[Spec]:
    """A mark per row (`point.row`) in the shape of its source with its text, hollow if the figure
    is doubted."""
    shaped = {**encoding, "shape": by_name("source", SHAPES), **carried(rows)}
    layers = []
    for hollow in (False, True):
        style = {"filled": not hollow, "opacity": 1, "strokeWidth": 2} | mark
        layers.append(layer("point", [r for r in rows if r["doubted"] is hollow], shaped, **style))
    return layers


def along(
    y: Spec, metric: str, domain: Sequence[float], *, log: bool, ticks: int = 4, **scale: bool
) -> At:
    """Places in rows `y`, on a horizontal axis over `domain`; `scale` are options of its scale."""

    def at(field: str, to: str = "") -> dict[str, Spec]:
        x = value_axis(field, metric, domain, log=log, ticks=ticks)
        x["scale"] |= scale
        return {"x": x, "y": y} | ({"x2": {"field": to}} if to else {})

    return at


def brackets(lanes: Mapping[str, Sequence[ChartPoint]], at: At, *, below: int = 0) -> list[Spec]:
    """The interval of the median of each row that has one (MR-6), so many pixels `below` its
    middle."""
    rows: list[Row] = []
    for name, points in lanes.items():
        if points and (interval := middle(points).interval):
            low, high = (with_unit(points[0].metric, end) for end in interval)
            words = f"{name.rstrip(OWN_MARK)}: 95 % interval of the median {low} to {high}"
            row = {"row": name, "low": interval[0], "high": interval[1]}
            rows.append(row | {"description": words})
    ends = [{"row": row["row"], "end": row[end]} for row in rows for end in ("low", "high")]
    told = {"description": named("description")}
    style = {"color": ACCENT, "opacity": 1, "yOffset": below}
    ticks = {"thickness": 2, "size": 8 if below else 16, "orient": "vertical"}
    return [
        layer("rule", rows, at("low", "high") | told, strokeWidth=2, **style),
        layer("tick", ends, at("end"), **ticks, **style),
    ]


def columns(rows: Iterable[Row], encoding: Mapping[str, Spec]) -> Spec:
    """Invisible rectangles that give their `words` to a pointer or a screen reader."""
    told = {**encoding, "description": named("words")}
    return layer("rect", rows, told, fillOpacity=0, color=INK)
