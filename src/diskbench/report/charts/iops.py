"""IOPS and throughput of one trial, step by step, on an axis each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.report.assemble.words import in_large_blocks
from diskbench.report.charts.axis import CHARACTER_PX, direction_colour
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.palette import DIRECTIONS
from diskbench.report.charts.registry import chart
from diskbench.report.charts.rows import drawn_rows
from diskbench.report.charts.step_label import ONE_MACHINE, WIDTH, height, label, step_axis
from diskbench.units import format_iops, format_mb_per_s

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.report.assemble.chart_data import ChartData
    from diskbench.report.assemble.lines import Spread, StepLine
    from diskbench.report.charts.palette import Palette


def rate_charts(lines: Sequence[StepLine], palette: Palette) -> tuple[ChartFigure, ...]:
    """Bars of IOPS for steps in small blocks, and bars of MB/s for those in large ones: on one axis
    a step of 1 MiB would look a hundred times slower than one of 4 KiB on the same disk. A thin
    line shows the range of the runs. Steps without a rate have no bar."""
    counted = [line for line in lines if line.iops is not None]
    small = [line for line in counted if not _is_large(line)]
    large = [line for line in counted if _is_large(line)]
    figures = [_bars(small, palette, _IOPS)] if small else []
    return (*figures, *([_bars(large, palette, _THROUGHPUT)] if large else ()))


@dataclass(frozen=True)
class _Rate:
    """What the length of a bar is, and the text beside it."""

    id: str
    title: str
    unit: str
    of: Callable[[StepLine], Spread | None]
    text: Callable[[StepLine], str]


def _is_large(line: StepLine) -> bool:
    """Whether the blocks of a step are so large that its rate is that of its bytes."""
    if line.iops is None or line.bytes_per_s is None:
        return False
    return in_large_blocks(line.iops.median, line.bytes_per_s.median)


def _bars(lines: Sequence[StepLine], palette: Palette, rate: _Rate) -> ChartFigure:
    import altair as alt

    runs = max(line.n for line in lines)
    spreads = [(line, spread) for line in lines if (spread := rate.of(line)) is not None]
    rows = [
        {
            "label": label(line, lines),
            "direction": line.direction,
            "rate": spread.median,
            "low": spread.low,
            "high": spread.high,
            "text": rate.text(line),
        }
        for line, spread in spreads
    ]
    top = max(spread.high for _, spread in spreads)
    # Room to the right of the longest bar for the longest label.
    room = CHARACTER_PX * max(len(rate.text(line)) for line in lines) + 8
    scale = alt.Scale(domain=[0, top * WIDTH / max(WIDTH - room, WIDTH / 4)], nice=False)
    base = alt.Chart(drawn_rows(rows)).encode(y=step_axis(lines))
    bars = base.mark_bar(cornerRadiusEnd=3, height=14).encode(
        x=alt.X("rate:Q", title=None, scale=scale, axis=None),
        color=direction_colour(palette.directions, DIRECTIONS),
    )
    texts = base.mark_text(align="left", dx=6, color=palette.ink).encode(
        x=alt.X("high:Q", scale=scale, axis=None), text=alt.Text("text:N")
    )
    layers = [bars, texts]
    subtitle = rate.unit
    if runs > 1:
        span = base.mark_rule(color=palette.ink, strokeWidth=1.5).encode(
            x=alt.X("low:Q", scale=scale, axis=None), x2=alt.X2("high:Q")
        )
        layers.insert(1, span)
        subtitle += f"; bar: median of n = {runs} runs, line: lowest to highest"
    else:
        subtitle += "; n = 1 run"
    subtitle += f"; {ONE_MACHINE}"
    drawing = alt.LayerChart(layer=layers).properties(width=WIDTH, height=height(lines))
    return ChartFigure(rate.title, subtitle, drawing, id=rate.id)


def _iops_text(line: StepLine) -> str:
    iops = format_iops(line.iops.median) if line.iops else ""
    if line.direction == "sync" or line.bytes_per_s is None:
        return iops
    return f"{iops}  ({format_mb_per_s(line.bytes_per_s.median)} MB/s)"


def _throughput_text(line: StepLine) -> str:
    speed = format_mb_per_s(line.bytes_per_s.median) if line.bytes_per_s else ""
    return f"{speed}  ({format_iops(line.iops.median)} IOPS)" if line.iops else speed


_IOPS = _Rate("iops", "IOPS", "operations per second (MB/s)", lambda line: line.iops, _iops_text)
_THROUGHPUT = _Rate(
    "throughput",
    "Throughput",
    "MB/s of steps in large blocks (IOPS)",
    lambda line: line.bytes_per_s,
    _throughput_text,
)


@chart("iops", title="IOPS and throughput of each step", needs="one trial", rank=30)
def _of_trial(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    if data.single and sum(line.iops is not None for line in data.single.lines) > 1:
        yield from rate_charts(data.single.lines, palette)
