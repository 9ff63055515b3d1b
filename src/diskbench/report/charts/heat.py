"""Pictures with values as colour, in seven steps, equal factors apart: the seconds of many runs (a
row per run, time to the right), and how many I/Os took how long, and when."""

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from heapq import nlargest
from operator import itemgetter

from diskbench.model.ids import short
from diskbench.report.assemble.chart_data import ChartData
from diskbench.report.assemble.course import Band, means, spans, stretch_s
from diskbench.report.assemble.latencies import LatencyMap
from diskbench.report.assemble.phases import clock
from diskbench.report.assemble.words import row_href
from diskbench.report.charts import measure
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import columns, layer, layered
from diskbench.report.charts.measure import Spec
from diskbench.report.charts.palette import ACCENT, HEAT
from diskbench.report.charts.point import Row


def bounds_of(values: Sequence[float]) -> list[float]:
    """Upper bounds of all steps but the last (`bisect_right` finds the step of a value); fewer
    steps if the values differ little, because a step is at least a factor of 1.1: less is noise. A
    value of zero belongs to the first step."""
    known = [value for value in values if value > 0]
    if not known:
        return []
    low, high = min(known), max(known)
    count = max(1, min(len(HEAT), round(math.log(high / low) / math.log(1.1)))) if high > low else 1
    factor = (high / low) ** (1 / count)
    return [low * factor**step for step in range(1, count)]


def words_of(bounds: Sequence[float], metric: str = "ios") -> list[str]:
    """The label of each step: `<10`, `≥10`, `≥100` …"""
    texts = [measure.bare(metric, bound) for bound in bounds]
    return [f"<{texts[0]}", *(f"≥{text}" for text in texts)] if texts else ["all"]


def _heat(bounds: Sequence[float], metric: str = "ios") -> dict[str, Spec]:
    """The colour of a step in field `heat`, with a legend of the steps below the picture."""
    words = words_of(bounds, metric)
    legend = {
        "orient": "bottom",
        "direction": "horizontal",
        "title": measure.title(metric),
        "symbolType": "square",
        "symbolStrokeWidth": 0,
        "symbolOpacity": 1,
        "columns": min(len(words), 4),  # the page's font may be wider than Vega's
        "labelExpr": f"{words}[datum.value]",
        "columnPadding": 14,
    }
    scale = {"domain": list(range(len(words))), "range": list(HEAT[: len(words)])}
    return {"color": {"field": "heat", "type": "ordinal", "scale": scale, "legend": legend}}


_ROW_PX = 14
_LEAST_PX, _MOST_PX = 90, 420
_MOST_STALLS = 1000


def overview_chart(
    bands: Sequence[Band], *, name: str = "overview", hrefs: Mapping[str, str] | None = None
) -> ChartFigure:
    """All runs of one step, the first on top, with the mean rate of each stretch as colour. Each
    row has hover text with its run and values, and links to the entry of its run id in `hrefs`."""
    metric = bands[0].figure
    width = stretch_s(bands)
    rates = (means(band, width) for band in bands)
    moving = [of_band[of_band > 0] for of_band in rates]
    bounds = bounds_of([float(end) for of in moving if of.size for end in (of.min(), of.max())])
    height = min(max(_ROW_PX * len(bands), _LEAST_PX), _MOST_PX)
    x = measure.time_axis(max(band.seconds for band in bands), "start")
    rows_of = {"domain": [0.5, len(bands) + 0.5], "reverse": True, "nice": False}
    y = measure.amount("top", scale=rows_of, axis=measure.run_axis(len(bands), minExtent=34))
    tall = {"x": x, "y": y, "y2": {"field": "low"}}
    cell = tall | {"x2": {"field": "end"}}
    cells = [
        {"start": start, "end": end, "top": row + 0.5, "low": row + 1.5, "heat": heat}
        for row, start, end, heat in spans(bands, bounds)
    ]
    rows = [_row(band, place, hrefs or {}) for place, band in enumerate(bands)]
    # The mean of a stretch does not show a stall of three seconds: the longest have marks.
    stalls = [
        (seconds, {"start": start, "top": row + 0.5, "low": row + 1.5})
        for row, band in enumerate(bands)
        for start, seconds in band.stalls
    ]
    longest = nlargest(_MOST_STALLS, stalls, key=itemgetter(0))
    layers = [
        layer("rect", cells, cell | _heat(bounds, metric)),
        layer("rule", [row for _, row in longest], tall, color=ACCENT, strokeWidth=2),
        columns(rows, cell),
    ]
    unit = measure.title(metric)
    shown = f"mean {unit} of each {width} s" if width > 1 else f"{unit} of each second"
    shown += ", one row per run, oldest on top" + ("; upright tick: a stall" if stalls else "")
    counted = f"n = {len(bands):,} runs; no interval (n = 1 run each)"
    return ChartFigure(
        title=f"{bands[0].step}: all runs second by second",
        subtitle=f"{shown}; {counted}",
        drawing=lambda _: layered(layers, measure.TIME_WIDTH, height),
        id=name,
        alt=_bands_in_words(bands),
    )


def _row(band: Band, place: int, hrefs: Mapping[str, str]) -> Row:
    parts = [
        f"run {short(band.run_id)}",
        f"{place + 1}: {band.step}",
        f"median second {measure.with_unit(band.figure, band.median)}",
        f"fell at {clock(band.fell_s)}" if band.fell_s is not None else "",
        f"stalled for {band.stalled_s:.0f} s" if band.stalled_s else "",
        f"n = {band.seconds:,} s",
    ]
    row: Row = {"start": 0, "end": band.seconds, "top": place + 0.5, "low": place + 1.5}
    row["description"] = " · ".join(filter(None, parts))
    return row | ({"href": hrefs[band.run_id]} if band.run_id in hrefs else {})


def _bands_in_words(bands: Sequence[Band]) -> str:
    ordered = sorted(bands, key=lambda band: band.median)
    places = (0, len(ordered) // 2, -1)
    low, middle, high = (measure.with_unit(bands[0].figure, ordered[at].median) for at in places)
    fell = sum(band.fell_s is not None for band in bands)
    stalled = sum(bool(band.stalled_s) for band in bands)
    lie = f"their median seconds lie between {low} and {high}, in the middle {middle}"
    what = f"{fell:,} fell off a cliff and {stalled:,} stalled"
    return f"{len(bands):,} runs of {bands[0].step}: {lie}; {what}."


def overviews(data: ChartData) -> Iterator[ChartFigure]:
    """The seconds of all runs of the most common steps."""
    hrefs = {row.run_id: row_href(row.run_id) for row in data.runs}
    for number, bands in enumerate(data.bands):
        yield overview_chart(bands, name=f"seconds-{number}", hrefs=hrefs)


MAP_HEIGHT = 170
_LEAST_NS = 32.0
"""Where a bucket from zero begins on the logarithmic axis."""


def latency_map_chart(latency_map: LatencyMap) -> ChartFigure:
    """Time from left to right, latency from below (logarithmic), I/Os a second as colour: a few
    very slow I/Os stay visible beside many fast ones."""
    cells, stretches = latency_map.cells, latency_map.stretches.to_dicts()
    bounds = bounds_of(cells["per_s"].to_list())
    domain = [min(cells["low"].to_list()) or _LEAST_NS, max(cells["high"].to_list())]
    x = {"x": measure.time_axis(latency_map.seconds, "start"), "x2": {"field": "end"}}
    y = {"y": measure.latency_axis("low", domain, grid=False), "y2": {"field": "high"}}
    tall = {"y": {"value": 0}, "y2": {"value": MAP_HEIGHT}}
    words = [row | {"description": _map_words(latency_map, row)} for row in stretches]
    layers = [
        layer("rect", _joined(cells.to_dicts(), bounds), x | y | _heat(bounds)),
        columns(words, x | tall),
    ]
    width = max(row["end"] - row["start"] for row in stretches)
    per = "second" if width <= 1 else f"{width:g} s"
    return ChartFigure(
        title=f"{latency_map.step}: {latency_map.direction} latency over time",
        subtitle=f"time of one I/O (logarithmic) in each {per}; "
        f"n = {latency_map.n:,} I/Os, no interval (n = 1 run)",
        drawing=lambda _: layered(layers, measure.TIME_WIDTH, MAP_HEIGHT),
        id=f"map-{latency_map.step_index}-{latency_map.direction}",
        alt=_map_sentence(latency_map, stretches),
    )


def _joined(cells: Sequence[Row], bounds: Sequence[float]) -> list[Row]:
    """The cells, with adjacent cells of one colour merged: of a thousand cells a hundred."""
    rows: list[Row] = []
    for cell in cells:
        heat, low, last = bisect_right(bounds, cell["per_s"]), cell["low"] or _LEAST_NS, rows[-1:]
        if last and (last[0]["low"], last[0]["heat"], last[0]["end"]) == (low, heat, cell["start"]):
            last[0]["end"] = cell["end"]
        else:
            of = {key: cell[key] for key in ("start", "end", "high")}
            rows.append(of | {"low": low, "heat": heat})
    return rows


def _map_words(latency_map: LatencyMap, stretch: Row) -> str:
    start, end = stretch["start"], stretch["end"]
    names = [name for name in ("p50", "p99", "highest") if stretch[name] is not None]
    parts = [
        f"run {short(latency_map.run_id)}",
        f"{latency_map.step} {latency_map.direction}",
        f"{clock(start)}{f'–{clock(end)}' if end - start > 1 else ''}",
        f"n = {stretch['n']:,} I/Os",
        *(f"{name} ≤ {measure.bare('lat_ns', stretch[name])}" for name in names),
    ]
    return " · ".join(parts)


def _map_sentence(latency_map: LatencyMap, stretches: Sequence[Row]) -> str:
    best, worst = (
        f"{measure.bare('lat_ns', row['p50'])} (at {clock(row['start'])})"
        for row in (pick(stretches, key=itemgetter("p50")) for pick in (min, max))
    )
    highest = measure.bare("lat_ns", max(row["highest"] for row in stretches))
    return (
        f"{latency_map.step} {latency_map.direction} over {clock(latency_map.seconds)}: "
        f"the median lay between {best} and {worst}; the highest was {highest}."
    )
