"""A heat map of latencies over time: how many I/Os took how long, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.report.assemble.phases import clock
from diskbench.report.charts.clock import WIDTH, time_axis
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.heat import bounds_of, heat_colour, place_of
from diskbench.report.charts.layers import columns, latency_axis
from diskbench.report.charts.measure import bare
from diskbench.report.charts.registry import chart
from diskbench.report.charts.rows import drawn_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.report.assemble.chart_data import ChartData
    from diskbench.report.assemble.latencies import LatencyMap, MapColumn
    from diskbench.report.charts.palette import Palette

HEIGHT = 170


def latency_map_chart(latency_map: LatencyMap, palette: Palette) -> ChartFigure:
    """Time from left to right, latency from below (logarithmic), I/Os a second as colour.

    Colours are seven steps, equal factors apart, so that a few very slow I/Os stay visible beside
    many fast ones.
    """
    import altair as alt

    bounds = bounds_of([cell.per_s for cell in latency_map.cells], len(palette.heat))
    domain = [
        min((cell.from_ns for cell in latency_map.cells), default=1e3) or 32.0,
        max((cell.to_ns for cell in latency_map.cells), default=1e6),
    ]
    x = time_axis(latency_map.seconds, "start")
    y = latency_axis("low", domain, grid=False)
    rows = _joined(latency_map, bounds)
    cells = (
        alt.Chart(drawn_rows(rows))
        .mark_rect(aria=False)
        .encode(
            x=x, x2=alt.X2("end:Q"), y=y, y2=alt.Y2("high:Q"), color=heat_colour(bounds, palette)
        )
    )
    words = [_row(latency_map, column) for column in latency_map.stretches]
    high = {"x": x, "x2": "end:Q", "y": alt.value(0), "y2": alt.value(HEIGHT)}
    drawing = alt.LayerChart(layer=[cells, columns(words, palette, high)]).properties(
        width=WIDTH, height=HEIGHT
    )
    return ChartFigure(
        title=f"{latency_map.step}: {latency_map.direction} latency over time",
        subtitle=_subtitle(latency_map),
        drawing=drawing,
        id=f"map-{latency_map.step_index}-{latency_map.direction}",
        alt=_sentence(latency_map),
    )


def _joined(latency_map: LatencyMap, bounds: list[float]) -> list[dict[str, Any]]:
    """The cells, with adjacent cells of one colour merged."""
    rows: list[dict[str, Any]] = []
    for cell in sorted(latency_map.cells, key=lambda cell: (cell.from_ns, cell.start_s)):
        heat = place_of(cell.per_s, bounds)
        last = rows[-1] if rows else None
        low = cell.from_ns or 32.0
        if last and (last["low"], last["heat"], last["end"]) == (low, heat, cell.start_s):
            last["end"] = cell.end_s
            continue
        rows.append(
            {"start": cell.start_s, "end": cell.end_s, "low": low, "high": cell.to_ns, "heat": heat}
        )
    return rows


def _row(latency_map: LatencyMap, column: MapColumn) -> dict[str, Any]:
    until = f"–{clock(column.end_s)}" if column.end_s - column.start_s > 1 else ""
    parts = [
        f"run {latency_map.run_id}",
        f"{latency_map.step} {latency_map.direction}",
        f"{clock(column.start_s)}{until}",
        f"n = {column.n:,} I/Os",
        f"p50 ≤ {bare('lat_ns', column.p50_ns)}",
        f"p99 ≤ {bare('lat_ns', column.p99_ns)}" if column.p99_ns is not None else "",
        f"highest ≤ {bare('lat_ns', column.max_ns)}",
    ]
    words = " · ".join(word for word in parts if word)
    return {"start": column.start_s, "end": column.end_s, "words": words}


def _subtitle(latency_map: LatencyMap) -> str:
    width = max((column.end_s - column.start_s for column in latency_map.stretches), default=1)
    per = "second" if width <= 1 else f"{width:g} s"
    return (
        f"time of one I/O (logarithmic) in each {per}; "
        f"n = {latency_map.n:,} I/Os, no interval (n = 1 run)"
    )


def _sentence(latency_map: LatencyMap) -> str:
    worst = max(latency_map.stretches, key=lambda column: column.p50_ns, default=None)
    best = min(latency_map.stretches, key=lambda column: column.p50_ns, default=None)
    if worst is None or best is None:
        return f"No latencies of {latency_map.step}."
    return (
        f"{latency_map.step} {latency_map.direction} over {clock(latency_map.seconds)}: "
        "the median lay between "
        f"{bare('lat_ns', best.p50_ns)} (at {clock(best.start_s)}) and "
        f"{bare('lat_ns', worst.p50_ns)} (at {clock(worst.start_s)}); the highest was "
        f"{bare('lat_ns', max(column.max_ns for column in latency_map.stretches))}."
    )


@chart(
    "latency-map",
    title="how many I/Os took how long, over time",
    needs="the evidence of one run",
    rank=30,
)
def _of_run(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    for latency_map in data.latency_maps[:1]:
        yield latency_map_chart(latency_map, palette)
