"""Own runs over published figures: diamonds, the range of their runs, and their interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from diskbench.report.charts.layers import SHAPES, dots, interval_rule
from diskbench.report.charts.measure import bare
from diskbench.report.charts.point import ChartPoint, middle
from diskbench.report.charts.rows import drawn_rows, row

if TYPE_CHECKING:
    import altair as alt

    from diskbench.report.charts.palette import Palette


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
    base = alt.Chart(drawn_rows(rows))
    span = base.mark_rule(color=palette.ink, strokeWidth=1.5, aria=False)
    layers: list[Any] = [span.encode(x=x("from"), x2=alt.X2("to:Q"), y=y)]
    marks = {"shape": SHAPES["measured"], "color": palette.ink, "opacity": 0.9}
    layers += dots(rows, size=85, encode={"x": x("at"), "y": y}, **marks)
    brackets = _brackets(points, lane, drawn)
    if brackets:
        for end in ("from", "to"):
            tick = alt.Chart(drawn_rows(brackets)).mark_tick(
                color=palette.accent, thickness=2.5, size=15, aria=False
            )
            layers.append(tick.encode(x=x(end), y=y))
        layers += interval_rule(brackets, palette, {"x": x("from"), "x2": "to:Q", "y": y}, wide=1.5)
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
