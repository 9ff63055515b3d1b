"""Several figures of the same disks side by side, each on an axis of its own.

It replaces a chart with two axes: rows are disks, panels are figures (IOPS, read, write), so that
no lines cross and every number is beside its mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from diskbench.report.charts.axis import wants_log
from diskbench.report.charts.bars import panel
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.lanes import lanes_of
from diskbench.report.charts.measure import title, with_unit
from diskbench.report.charts.point import ChartPoint, subtitle

if TYPE_CHECKING:
    import altair as alt

    from diskbench.report.charts.lanes import Lanes
    from diskbench.report.charts.palette import Palette

WIDTH = 130
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
    units = " · ".join(dict.fromkeys(_heading(key) for key in panels))
    if by_instance:
        units = title(points[0].metric)
    return ChartFigure(
        title=heading,
        subtitle=subtitle(points, units),
        drawing=_drawing(panels, palette, lanes, log=False),
        id=name,
        alt=_sentence(panels, heading),
        log_drawing=_drawing(panels, palette, lanes, log=True) if log and positive else None,
        log_first=log and positive,
    )


def _drawing(
    panels: dict[Panel, list[ChartPoint]], palette: Palette, lanes: Lanes, *, log: bool
) -> alt.TopLevelMixin:
    import altair as alt

    drawn: list[Any] = []
    for place, (key, of_panel) in enumerate(panels.items()):
        drawing = panel(of_panel, palette, lanes, log=log, width=WIDTH, labelled=not place)
        words = alt.TitleParams(_heading(key), anchor="start", frame="group", offset=6)
        drawn.append(drawing.properties(title=words))
    return alt.hconcat(*drawn, spacing=14)


def _heading(key: Panel) -> str:
    metric, direction = key
    if direction in ("read", "write", "total"):
        return title(metric) if direction == "total" else f"{direction} {title(metric)}"
    return direction


def _sentence(panels: dict[Panel, list[ChartPoint]], heading: str) -> str:
    parts = []
    for key, of_panel in panels.items():
        best = max(of_panel, key=lambda point: point.value)
        parts.append(f"most {_heading(key)}: {best.label} with {with_unit(key[0], best.value)}")
    return f"{heading}: {'; '.join(parts)}."
