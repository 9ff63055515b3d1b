"""One step second by second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.report.charts.axis import direction_colour, whole_seconds
from diskbench.report.charts.figure import Figure
from diskbench.report.charts.palette import DIRECTIONS

if TYPE_CHECKING:
    from diskbench.report.charts.palette import Palette
    from diskbench.report.seconds import StepSeconds

WIDTH = 280
_DOTS_UP_TO_S = 60


def seconds_chart(series: StepSeconds, palette: Palette) -> Figure:
    """IOPS of one step, second by second, from zero."""
    import altair as alt

    rows = [
        {"second": second + 1, "iops": iops, "direction": direction}
        for direction, points in series.directions.items()
        for second, iops in points
    ]
    base = alt.Chart({"values": rows}).encode(
        x=alt.X(
            "second:Q",
            title="second",
            axis=alt.Axis(format="d", grid=False, values=whole_seconds(series.n)),
            scale=alt.Scale(nice=False),
        ),
        y=alt.Y(
            "iops:Q",
            title=None,
            axis=alt.Axis(format="~s", tickCount=3, domain=False, ticks=False, minExtent=34),
            scale=alt.Scale(zero=True),
        ),
        color=direction_colour(palette.directions, DIRECTIONS),
    )
    line = base.mark_line(strokeWidth=2, interpolate="linear")
    dots = base.mark_point(filled=True, size=18, opacity=1)
    layers = [line, dots] if series.n <= _DOTS_UP_TO_S else [line]
    drawing = alt.LayerChart(layer=layers).properties(width=WIDTH, height=96)
    return Figure(series.step, f"IOPS in each second, n = {series.n} s", drawing)
