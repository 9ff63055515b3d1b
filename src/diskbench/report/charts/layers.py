"""Layers that charts share, as Vega-Lite has them: marks of rows, figures and own runs over
published ones, intervals, placed labels, and invisible marks that carry text for pointer, keyboard
and screen reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from diskbench.report.charts.measure import Channel, Spec, bare, by_name, named
from diskbench.report.charts.palette import Palette
from diskbench.report.charts.point import ChartPoint, Row, carried, middle, row

SHAPES = {"published": "circle", "measured": "diamond"}
"""The mark of each source of a figure."""
_AROUND = ((-7, 0), (7, 0), (0, -7), (0, 7), (-5, -5), (-5, 5), (5, -5), (5, 5))
"""Pixels around the centre of a dot that no label may cover: empty texts stand there."""


def layer(mark: str, rows: Iterable[Row], encoding: Mapping[str, Channel], **style: object) -> Spec:
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


def placed(
    rows: Sequence[Row], encoding: Mapping[str, Channel], palette: Palette, where: str
) -> Spec:
    """The `text` of each dot beside it, of dots with the same text at the first, where Vega finds
    room for it; else it is left out, and the mark's own text names it."""
    labels = list({row["text"]: row for row in reversed(rows)}.values())
    around = [row | {"text": "", "dx": dx, "dy": dy} for row in rows for dx, dy in _AROUND]
    text = {**encoding, "text": named("text")}
    told = [row | {"dx": 0, "dy": 0} for row in reversed(labels)]
    return layer("text", [*told, *around], text, style=f"placed-{where}", color=palette.ink)


def dots(rows: Sequence[Row], encoding: Mapping[str, Channel], **mark: object) -> list[Spec]:
    """A mark per row (`point.row`) in the shape of its source with its text, hollow if the figure
    is doubted."""
    shaped = {**encoding, "shape": by_name("source", SHAPES), **carried(rows)}
    style = {"opacity": 1, "strokeWidth": 2} | mark
    return [
        layer(
            "point", [r for r in rows if r["doubted"] is hollow], shaped, filled=not hollow, **style
        )
        for hollow in (False, True)
    ]


def interval_rule(
    rows: Iterable[Row], palette: Palette, encoding: Mapping[str, Channel], width: float = 2
) -> Spec:
    """A line in the accent colour over each interval of a median (MR-6)."""
    return layer("rule", rows, encoding, color=palette.accent, strokeWidth=width)


def columns(rows: Iterable[Row], palette: Palette, encoding: Mapping[str, Channel]) -> Spec:
    """Invisible rectangles that give their `words` to a pointer or a screen reader."""
    told = {**encoding, "description": named("words")}
    return layer("rect", rows, told, fillOpacity=0, color=palette.ink)


def own_layers(
    by_lane: Mapping[str, Sequence[ChartPoint]],
    x: Callable[[str], Channel],
    drawn: Callable[[float], float],
    y: Channel,
    palette: Palette,
) -> list[Spec]:
    """Marks of own points by their row: `x` encodes a field, `drawn` returns the position of a
    value on that axis."""
    rows = [
        row(point)
        | {
            "row": name,
            "at": drawn(point.value),
            "from": drawn(point.value if point.low is None else point.low),
            "to": drawn(point.value if point.high is None else point.high),
        }
        for name, points in by_lane.items()
        for point in points
    ]
    brackets = [
        {"row": name, "from": drawn(interval[0]), "to": drawn(interval[1])}
        for name, points in by_lane.items()
        if points and (interval := middle(points).interval)
    ]
    ends = [{"row": each["row"], "at": each[end]} for each in brackets for end in ("from", "to")]
    span = {"x": x("from"), "x2": {"field": "to"}, "y": y}
    return [
        layer("rule", rows, span, color=palette.ink, strokeWidth=1.5),
        *dots(rows, {"x": x("at"), "y": y}, size=85, color=palette.ink, opacity=0.9),
        layer("tick", ends, {"x": x("at"), "y": y}, color=palette.accent, thickness=2.5, size=15,
              orient="vertical"),
        interval_rule(brackets, palette, span, 1.5),
    ]  # fmt: skip


def own_text(points: Sequence[ChartPoint], *, brief: bool = False) -> str:
    """`3,100 (n = 3 runs)`, or for several points their median: `3,100 (n = 7 machines)`."""
    centre = middle(points)
    value = bare(points[0].metric, centre.value)
    if brief:
        return value
    if len(points) > 1:
        return f"{value} (n = {centre.machines} machine{'' if centre.machines == 1 else 's'})"
    return f"{value} ({points[0].sample.rpartition(' of ')[2]})"
