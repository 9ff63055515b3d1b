"""The seconds of many runs in one picture: a row per run, time to the right, rate as colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from diskbench.report.assemble.overview import means, spans, stretch_s
from diskbench.report.assemble.phases import clock
from diskbench.report.assemble.words import row_href
from diskbench.report.charts.clock import WIDTH, time_axis
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.heat import bounds_of, heat_colour
from diskbench.report.charts.layers import columns
from diskbench.report.charts.measure import with_unit
from diskbench.report.charts.registry import chart
from diskbench.report.charts.rows import drawn_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.report.assemble.chart_data import ChartData
    from diskbench.report.assemble.overview import Band
    from diskbench.report.charts.palette import Palette

_ROW_PX = 14
_LEAST_PX, _MOST_PX = 90, 420
_MOST_STALLS = 1000


def overview_chart(
    bands: Sequence[Band],
    palette: Palette,
    *,
    name: str = "overview",
    hrefs: Mapping[str, str] | None = None,
) -> ChartFigure:
    """All runs of one step, the first on top, with the mean rate of each stretch as colour.

    Colours are seven steps, equal factors apart. Each row has hover text with its run and values,
    and links to the entry of its run id in `hrefs`.
    """
    import altair as alt

    first = bands[0]
    metric = first.figure
    width = stretch_s(bands)
    bounds = bounds_of(_range(bands, width), len(palette.heat))
    seconds = max(band.seconds for band in bands)
    height = min(max(_ROW_PX * len(bands), _LEAST_PX), _MOST_PX)
    x = time_axis(seconds, "start")
    marks = _row_marks(len(bands))
    y = alt.Y(
        "top:Q",
        scale=alt.Scale(domain=[0, len(bands)], reverse=True, nice=False),
        axis=alt.Axis(
            values=[mark - 0.5 for mark in marks],
            labelExpr="format(datum.value + 0.5, ',d')",
            title="run",
            grid=False,
            domain=False,
            ticks=False,
            minExtent=34,
        ),
    )
    cells = [
        {
            "start": span.start_s,
            "end": span.end_s,
            "top": span.row,
            "low": span.row + 1,
            "heat": span.heat,
        }
        for span in spans(bands, bounds)
    ]
    heat = (
        alt.Chart(drawn_rows(cells))
        .mark_rect(aria=False)
        .encode(
            x=x,
            x2=alt.X2("end:Q"),
            y=y,
            y2=alt.Y2("low:Q"),
            color=heat_colour(bounds, palette, metric=metric),
        )
    )
    rows = [_row(band, place, hrefs or {}) for place, band in enumerate(bands)]
    place = {"x": x, "x2": "end:Q", "y": y, "y2": "low:Q"}
    hover = columns(rows, palette, place | ({"href": alt.Href("href:N")} if hrefs else {}))
    stalls = _stalls(bands)
    ticks = (
        alt.Chart(drawn_rows(stalls))
        .mark_rule(color=palette.accent, strokeWidth=2, aria=False)
        .encode(x=x, y=y, y2=alt.Y2("low:Q"))
    )
    layers = [heat, *([ticks] if stalls else []), hover]
    drawing = alt.LayerChart(layer=layers).properties(width=WIDTH, height=height)
    rate = "IOPS" if metric == "iops" else "MB/s"
    rates = f"mean {rate} of each {width} s" if width > 1 else f"{rate} of each second"
    if stalls:
        rates += "; upright tick: a stall"
    counted = f"n = {len(bands):,} runs; no interval (n = 1 run each)"
    return ChartFigure(
        title=f"{first.step}: all runs second by second",
        subtitle=f"{rates}, a row a run, the oldest above; {counted}",
        drawing=drawing,
        id=name,
        alt=_sentence(bands),
    )


def _range(bands: Sequence[Band], width: int) -> list[float]:
    """The lowest and the highest nonzero mean of a stretch."""
    lows, highs = [], []
    for band in bands:
        rates = means(band, width)
        rates = rates[rates > 0]
        if rates.size:
            lows.append(float(rates.min()))
            highs.append(float(rates.max()))
    return [min(lows), max(highs)] if lows else []


def _stalls(bands: Sequence[Band]) -> list[dict[str, Any]]:
    """Marks of the longest stalls: the mean of a stretch does not show a stall of three seconds."""
    stalls = [
        (seconds, {"start": start, "top": row, "low": row + 1})
        for row, band in enumerate(bands)
        for start, seconds in band.stalls
    ]
    stalls.sort(key=lambda stall: -stall[0])
    return [row for _, row in stalls[:_MOST_STALLS]]


def _row(band: Band, place: int, hrefs: Mapping[str, str]) -> dict[str, Any]:
    parts = [
        f"run {band.run_id}",
        f"{place + 1}: {band.step}",
        f"median second {with_unit(band.figure, band.median)}",
        f"fell at {clock(band.fell_s)}" if band.fell_s is not None else "",
        f"stalled for {band.stalled_s:.0f} s" if band.stalled_s else "",
        f"n = {band.seconds:,} s",
    ]
    words = " · ".join(word for word in parts if word)
    row = {"start": 0, "end": band.seconds, "top": place, "low": place + 1, "words": words}
    return row | ({"href": hrefs[band.run_id]} if band.run_id in hrefs else {})


def _row_marks(count: int) -> list[int]:
    """The first run and every 1, 2, 5, 10 … runs: at most a dozen ticks."""
    step = next(
        k * 10**power for power in range(9) for k in (1, 2, 5) if count / (k * 10**power) <= 11
    )
    return [1, *(mark for mark in range(step, count + 1, step) if mark > 1)]


def _sentence(bands: Sequence[Band]) -> str:
    ordered = sorted(bands, key=lambda band: band.median)
    low, middle, high = (
        with_unit(band.figure, band.median)
        for band in (ordered[0], ordered[len(ordered) // 2], ordered[-1])
    )
    fell = sum(band.fell_s is not None for band in bands)
    stalled = sum(bool(band.stalled_s) for band in bands)
    return (
        f"{len(bands):,} runs of {bands[0].step}: their median seconds lie between {low} and "
        f"{high}, in the middle {middle}; {fell:,} fell off a cliff and {stalled:,} stalled."
    )


@chart(
    "overview",
    title="the seconds of all runs of a step as one picture",
    needs="the evidence of three runs or more",
    rank=10,
)
def _of_runs(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    hrefs = {row.run_id: row_href(row.run_id) for row in data.runs}
    for number, bands in enumerate(data.bands):
        yield overview_chart(bands, palette, name=f"seconds-{number}", hrefs=hrefs)
