"""Layers that charts share, as Vega-Lite has them: marks of rows, intervals, placed labels, and
invisible marks that carry text for pointer, keyboard and screen reader.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from diskbench.analysis.repeats import median_interval
from diskbench.report.charts.measure import Spec, by_name, named, value_axis, with_unit
from diskbench.report.charts.palette import ACCENT, INK
from diskbench.report.charts.point import OWN_MARK, ChartPoint, Row, machine_values

At = Callable[..., dict[str, Spec]]
"""The places of a field on the axes of a chart, or of a stretch from one field to another."""
SHAPES = {"published": "circle", "measured": "diamond"}
"""The mark of each source of a figure."""
_AROUND = ((-7, 0), (7, 0), (0, -7), (0, 7), (-5, -5), (-5, 5), (5, -5), (5, 5))
"""Pixels around the centre of a dot that no label may cover: empty texts stand there."""


def layer(mark: str, rows: Iterable[Row], encoding: Mapping[str, Spec], **style: object) -> Spec:
    """A mark per row; a text is the `text` of its row. Only marks with a description are told to a
    screen reader."""
    channels = {"text": named("text")} if mark == "text" else {}
    return {
        "data": {"values": list(rows)},
        "mark": {"type": mark, "aria": "description" in encoding, **style},
        "encoding": {**channels, **encoding},
    }


def described(
    mark: str, rows: Sequence[Row], encoding: Mapping[str, Spec], **style: object
) -> Spec:
    """A mark per row with its `description` for pointer and screen reader, and its link (`href`) if
    any row has one."""
    carried = ("description", *(["href"] if any("href" in row for row in rows) else []))
    return layer(mark, rows, {**encoding, **{name: named(name) for name in carried}}, **style)


def layered(layers: Iterable[Spec], width: int, height: int, **more: object) -> Spec:
    """Layers above each other, without those that have no rows, with the size of the plot in
    pixels."""
    drawn = [each for each in layers if each["data"]["values"]]
    return {"layer": drawn, "width": width, "height": height, **more}


def placed(
    rows: Sequence[Row], encoding: Mapping[str, Spec], where: str, taken: Iterable[Row] = ()
) -> Spec:
    """The `text` of each dot beside it, of dots with the same text at the first, where Vega finds
    room for it that is not `taken`; else it is left out, and the mark's own text names it."""
    labels = list({row["text"]: row for row in reversed(rows)}.values())
    around = [row | {"text": "", "dx": dx, "dy": dy} for row in rows for dx, dy in _AROUND]
    texts = [row | {"dx": 0, "dy": 0} for row in reversed(labels)]
    return layer("text", [*texts, *around, *taken], encoding, style=f"placed-{where}", color=INK)


def dots(rows: Sequence[Row], encoding: Mapping[str, Spec], **mark: object) -> list[Spec]:
    """A mark per row (`point.row`) in the shape of its source with its text, hollow if the figure
    is doubted."""
    shaped = {**encoding, "shape": by_name("source", SHAPES)}
    layers = []
    for hollow in (False, True):
        of_kind = [row for row in rows if row["doubted"] is hollow]
        style = {"filled": not hollow, "opacity": 1, "strokeWidth": 2} | mark
        layers.append(described("point", of_kind, shaped, **style))
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
        if points and (interval := median_interval(machine_values(points))):
            low, high = (with_unit(points[0].metric, end) for end in (interval.low, interval.high))
            words = f"{name.rstrip(OWN_MARK)}: 95 % interval of the median {low} to {high}"
            row = {"row": name, "low": interval.low, "high": interval.high}
            rows.append(row | {"description": words})
    ends = [{"row": row["row"], "end": row[end]} for row in rows for end in ("low", "high")]
    style = {"color": ACCENT, "opacity": 1, "yOffset": below}
    ticks = {"thickness": 2, "size": 8 if below else 16, "orient": "vertical"}
    return [
        described("rule", rows, at("low", "high"), strokeWidth=2, **style),
        layer("tick", ends, at("end"), **ticks, **style),
    ]


def columns(rows: Sequence[Row], encoding: Mapping[str, Spec]) -> Spec:
    """Invisible rectangles that are told to a pointer or a screen reader."""
    return described("rect", rows, encoding, fillOpacity=0, color=INK)
