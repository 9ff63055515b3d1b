"""IOPS and throughput of one trial, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from diskbench.report.charts.axis import CHARACTER_PX, direction_colour
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.palette import DIRECTIONS
from diskbench.report.charts.registry import chart
from diskbench.report.charts.step_label import ONE_MACHINE, WIDTH, height, label, step_axis
from diskbench.units import format_iops, format_mb_per_s

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.report.assemble.chart_data import ChartData
    from diskbench.report.assemble.lines import StepLine
    from diskbench.report.charts.palette import Palette


def iops_chart(lines: Sequence[StepLine], palette: Palette) -> ChartFigure:
    """Bars of IOPS, one per step and direction with IOPS; a thin line shows the range of the
    runs."""
    import altair as alt

    counted = [(line, line.iops) for line in lines if line.iops is not None]
    lines = [line for line, _ in counted]
    runs = max((line.n for line in lines), default=0)
    rows = [
        {
            "label": label(line, lines),
            "direction": line.direction,
            "iops": iops.median,
            "low": iops.low,
            "high": iops.high,
            "text": _bar_text(line),
        }
        for line, iops in counted
    ]
    top = max((iops.high for _, iops in counted), default=1.0)
    # Room to the right of the longest bar for the longest label.
    room = CHARACTER_PX * max((len(_bar_text(line)) for line in lines), default=0) + 8
    scale = alt.Scale(domain=[0, top * WIDTH / max(WIDTH - room, WIDTH / 4)], nice=False)
    base = alt.Chart({"values": rows}).encode(y=step_axis(lines))
    bars = base.mark_bar(cornerRadiusEnd=3, height=14).encode(
        x=alt.X("iops:Q", title=None, scale=scale, axis=None),
        color=direction_colour(palette.directions, DIRECTIONS),
    )
    texts = base.mark_text(align="left", dx=6, color=palette.ink).encode(
        x=alt.X("high:Q", scale=scale, axis=None), text="text:N"
    )
    layers = [bars, texts]
    subtitle = "operations per second (MB/s)"
    if runs > 1:
        span = base.mark_rule(color=palette.ink, strokeWidth=1.5).encode(
            x=alt.X("low:Q", scale=scale, axis=None), x2="high:Q"
        )
        layers.insert(1, span)
        subtitle += f"; bar: median of n = {runs} runs, line: lowest to highest"
    else:
        subtitle += "; n = 1 run"
    subtitle += f"; {ONE_MACHINE}"
    drawing = alt.LayerChart(layer=layers).properties(width=WIDTH, height=height(lines))
    return ChartFigure("IOPS", subtitle, drawing, id="iops")


def _bar_text(line: StepLine) -> str:
    iops = format_iops(line.iops.median) if line.iops else ""
    if line.direction == "sync" or line.bytes_per_s is None:
        return iops
    return f"{iops}  ({format_mb_per_s(line.bytes_per_s.median)} MB/s)"


@chart("iops", title="IOPS and throughput of each step", needs="one trial", rank=30)
def _of_trial(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    if data.single and sum(line.iops is not None for line in data.single.lines) > 1:
        yield iops_chart(data.single.lines, palette)
