"""Pictures with values as colour, in seven steps, equal factors apart: the seconds of many runs (a
row per run, time to the right), and a heat map of latencies (how many I/Os took how long, and
when).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter

from diskbench.model.ids import short
from diskbench.report.assemble.chart_data import ChartData
from diskbench.report.assemble.course import Band, means, spans, stretch_s
from diskbench.report.assemble.latencies import LatencyMap
from diskbench.report.assemble.phases import clock
from diskbench.report.assemble.words import row_href
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import columns, layer, layered
from diskbench.report.charts.measure import (
    TIME_WIDTH,
    Spec,
    amount,
    bare,
    latency_axis,
    named,
    time_axis,
    title,
    with_unit,
)
from diskbench.report.charts.palette import ACCENT, HEAT
from diskbench.report.charts.point import Row


def bounds_of(values: Sequence[float]) -> list[float]:
    """Upper bounds of all steps but the last; fewer steps if the values differ little, because a
    step is at least a factor of 1.1: less is noise. A value of zero belongs to the first step."""
    known = [value for value in values if value > 0]
    if not known:
        return []
    low, high = min(known), max(known)
    count = max(1, min(len(HEAT), round(math.log(high / low) / math.log(1.1)))) if high > low else 1
    factor = (high / low) ** (1 / count)
    return [low * factor**step for step in range(1, count)]


def place_of(value: float, bounds: Sequence[float]) -> int:
    """The step that a value belongs to, from 0."""
    return sum(value >= bound for bound in bounds)


def words_of(bounds: Sequence[float], metric: str = "ios") -> list[str]:
    """The label of each step: `<10`, `≥10`, `≥100` …"""
    if not bounds:
        return ["all"]
    texts = [bare(metric, bound) for bound in bounds]
    return [f"<{texts[0]}", *(f"≥{text}" for text in texts)]


def _heat(bounds: Sequence[float], metric: str = "ios") -> dict[str, Spec]:
    """The colour of a step in field `heat`, with a legend of the steps below the picture."""
    words = words_of(bounds, metric)
    legend = {
        "orient": "bottom",
        "direction": "horizontal",
        "title": title(metric),
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
    """All runs of one step, the first on top, with the mean rate of each stretch as colour.

    Colours are seven steps, equal factors apart. Each row has hover text with its run and values,
    and links to the entry of its run id in `hrefs`.
    """
    metric = bands[0].figure
    width = stretch_s(bands)
    rates = [rate for band in bands for rate in _ends(band, width)]
    bounds = bounds_of(rates)
    height = min(max(_ROW_PX * len(bands), _LEAST_PX), _MOST_PX)
    y = amount(
        "top",
        scale={"domain": [0, len(bands)], "reverse": True, "nice": False},
        axis={
            "values": [mark - 0.5 for mark in _row_marks(len(bands))],
            "labelExpr": "format(datum.value + 0.5, ',d')",
            "title": "run",
            "grid": False,
            "minExtent": 34,
        },
    )
    x = time_axis(max(band.seconds for band in bands), "start")
    tall = {"x": x, "y": y, "y2": {"field": "low"}}
    cell = tall | {"x2": {"field": "end"}}
    cells = [
        {"start": start, "end": end, "top": row, "low": row + 1, "heat": heat}
        for row, start, end, heat in spans(bands, bounds)
    ]
    rows = [_row(band, place, hrefs or {}) for place, band in enumerate(bands)]
    # The mean of a stretch does not show a stall of three seconds: the longest have marks.
    stalls = sorted(
        ((seconds, start, row) for row, band in enumerate(bands) for start, seconds in band.stalls),
        key=lambda stall: -stall[0],
    )
    marks = [
        {"start": start, "top": row, "low": row + 1} for _, start, row in stalls[:_MOST_STALLS]
    ]
    layers = [
        layer("rect", cells, cell | _heat(bounds, metric)),
        layer("rule", marks, tall, color=ACCENT, strokeWidth=2),
        columns(rows, cell | ({"href": named("href")} if hrefs else {})),
    ]
    shown = f"mean {title(metric)} of each {width} s" if width > 1 else (
        f"{title(metric)} of each second"
    )  # fmt: skip
    if stalls:
        shown += "; upright tick: a stall"
    counted = f"n = {len(bands):,} runs; no interval (n = 1 run each)"
    return ChartFigure(
        title=f"{bands[0].step}: all runs second by second",
        subtitle=f"{shown}, a row a run, the oldest above; {counted}",
        drawing=lambda _: layered(layers, TIME_WIDTH, height),
        id=name,
        alt=_sentence(bands),
    )


def _ends(band: Band, width: int) -> list[float]:
    """The lowest and the highest nonzero mean of a stretch."""
    rates = means(band, width)
    rates = rates[rates > 0]
    return [float(rates.min()), float(rates.max())] if rates.size else []


def _row(band: Band, place: int, hrefs: Mapping[str, str]) -> Row:
    parts = [
        f"run {short(band.run_id)}",
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


def overviews(data: ChartData) -> Iterator[ChartFigure]:
    """The seconds of all runs of the most common steps."""
    hrefs = {row.run_id: row_href(row.run_id) for row in data.runs}
    for number, bands in enumerate(data.bands):
        yield overview_chart(bands, name=f"seconds-{number}", hrefs=hrefs)


MAP_HEIGHT = 170
_LEAST_NS = 32.0
"""Where a bucket from zero begins on the logarithmic axis."""


def latency_map_chart(latency_map: LatencyMap) -> ChartFigure:
    """Time from left to right, latency from below (logarithmic), I/Os a second as colour.

    Colours are seven steps, equal factors apart, so that a few very slow I/Os stay visible beside
    many fast ones.
    """
    cells, stretches = latency_map.cells, latency_map.stretches.to_dicts()
    bounds = bounds_of(cells["per_s"].to_list())
    domain = [min(cells["low"].to_list()) or _LEAST_NS, max(cells["high"].to_list())]
    x = {"x": time_axis(latency_map.seconds, "start"), "x2": {"field": "end"}}
    y = {"y": latency_axis("low", domain, grid=False), "y2": {"field": "high"}}
    tall = {"y": {"value": 0}, "y2": {"value": MAP_HEIGHT}}
    words = [row | {"words": _map_words(latency_map, row)} for row in stretches]
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
        drawing=lambda _: layered(layers, TIME_WIDTH, MAP_HEIGHT),
        id=f"map-{latency_map.step_index}-{latency_map.direction}",
        alt=_map_sentence(latency_map, stretches),
    )


def _joined(cells: Sequence[Row], bounds: Sequence[float]) -> list[Row]:
    """The cells, with adjacent cells of one colour merged: of a thousand cells a hundred."""
    rows: list[Row] = []
    for cell in cells:
        heat, low, last = place_of(cell["per_s"], bounds), cell["low"] or _LEAST_NS, rows[-1:]
        if last and (last[0]["low"], last[0]["heat"], last[0]["end"]) == (low, heat, cell["start"]):
            last[0]["end"] = cell["end"]
            continue
        of = {key: cell[key] for key in ("start", "end", "high")}
        rows.append(of | {"low": low, "heat": heat})
    return rows


def _map_words(latency_map: LatencyMap, stretch: Row) -> str:
    start, end = stretch["start"], stretch["end"]
    parts = [
        f"run {short(latency_map.run_id)}",
        f"{latency_map.step} {latency_map.direction}",
        f"{clock(start)}{f'–{clock(end)}' if end - start > 1 else ''}",
        f"n = {stretch['n']:,} I/Os",
        *(
            f"{name} ≤ {bare('lat_ns', stretch[name])}"
            for name in ("p50", "p99", "highest")
            if stretch[name] is not None
        ),
    ]
    return " · ".join(parts)


def _map_sentence(latency_map: LatencyMap, stretches: Sequence[Row]) -> str:
    best, worst = (
        f"{bare('lat_ns', row['p50'])} (at {clock(row['start'])})"
        for row in (pick(stretches, key=itemgetter("p50")) for pick in (min, max))
    )
    highest = bare("lat_ns", max(row["highest"] for row in stretches))
    return (
        f"{latency_map.step} {latency_map.direction} over {clock(latency_map.seconds)}: "
        f"the median lay between {best} and {worst}; the highest was {highest}."
    )
