"""A heat map of latencies over time: how many I/Os took how long, and when."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from diskbench.report.charts.clock import WIDTH, time_axis
from diskbench.report.charts.figure import Figure
from diskbench.report.charts.measure import axis, bare, powers_within
from diskbench.report.phase_lines import clock

if TYPE_CHECKING:
    from diskbench.report.charts.palette import Palette
    from diskbench.report.latency_map import LatencyMap, Stretch

HEIGHT = 170


def latency_map_chart(found: LatencyMap, palette: Palette) -> Figure:
    """Time from left to right, latency from below (logarithmic), I/Os a second as colour.

    Colours are seven steps, equal factors apart: few I/Os that took very long stay visible beside
    many that did not.
    """
    import altair as alt

    bounds = heat_bounds([cell.per_s for cell in found.cells], len(palette.heat))
    domain = [
        min((cell.from_ns for cell in found.cells), default=1e3) or 32.0,
        max((cell.to_ns for cell in found.cells), default=1e6),
    ]
    x = time_axis(found.seconds, "start")
    y = alt.Y(
        "low:Q",
        scale=alt.Scale(type="log", domain=domain, nice=False),
        axis=axis("lat_ns", values=powers_within(domain), minExtent=34, title=None, grid=False),
    )
    rows = _joined(found, bounds)
    words = heat_words(bounds)
    colour = alt.Color(
        "heat:O",
        scale=alt.Scale(domain=list(range(len(words))), range=list(palette.heat[: len(words)])),
        legend=alt.Legend(
            orient="bottom",
            direction="horizontal",
            title="I/Os a second",
            titleColor=palette.muted,
            titleFontWeight="normal",
            symbolType="square",
            symbolStrokeWidth=0,
            symbolOpacity=1,
            columns=len(words),
            labelExpr=f"{words}[datum.value]",
            columnPadding=6,
        ),
    )
    cells = (
        alt.Chart({"values": rows})
        .mark_rect(aria=False)
        .encode(x=x, x2="end:Q", y=y, y2="high:Q", color=colour)
    )
    told = [_row(found, one) for one in found.stretches]
    columns = (
        alt.Chart({"values": told})
        .mark_rect(fillOpacity=0, color=palette.ink)
        .encode(
            x=x,
            x2="end:Q",
            y=alt.value(0),
            y2=alt.value(HEIGHT),
            description=alt.Description("words:N"),
        )
    )
    drawing = alt.LayerChart(layer=[cells, columns]).properties(width=WIDTH, height=HEIGHT)
    return Figure(
        title=f"{found.step}: {found.direction} latency over time",
        subtitle=_subtitle(found),
        drawing=drawing,
        id=f"map-{found.step_index}-{found.direction}",
        alt=_sentence(found),
    )


def _joined(found: LatencyMap, bounds: list[float]) -> list[dict[str, Any]]:
    """Cells of one colour beside each other as one."""
    rows: list[dict[str, Any]] = []
    for cell in sorted(found.cells, key=lambda one: (one.from_ns, one.start_s)):
        heat = heat_place(cell.per_s, bounds)
        last = rows[-1] if rows else None
        low = cell.from_ns or 32.0
        if last and (last["low"], last["heat"], last["end"]) == (low, heat, cell.start_s):
            last["end"] = cell.end_s
            continue
        rows.append(
            {"start": cell.start_s, "end": cell.end_s, "low": low, "high": cell.to_ns, "heat": heat}
        )
    return rows


def heat_bounds(values: list[float], steps: int) -> list[float]:
    """Upper bounds of all steps but the last, equal factors apart; fewer steps where values hardly
    differ."""
    known = [value for value in values if value > 0]
    if not known:
        return []
    low, high = min(known), max(known)
    count = max(1, min(steps, math.ceil(math.log2(high / low)) if high > low else 1))
    factor = (high / low) ** (1 / count)
    return [low * factor**step for step in range(1, count)]


def heat_place(value: float, bounds: list[float]) -> int:
    """The step that a value belongs to, from 0."""
    return sum(value >= bound for bound in bounds)


def heat_words(bounds: list[float]) -> list[str]:
    """What each step stands for: `<10`, `≥10`, `≥100` …"""
    if not bounds:
        return ["all"]
    return [f"<{_short(bounds[0])}", *(f"≥{_short(bound)}" for bound in bounds)]


def _short(value: float) -> str:
    if value >= 10_000:
        return f"{value / 1000:.0f}k"
    if value >= 1000:
        return f"{value / 1000:.1f}k"
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def _row(found: LatencyMap, one: Stretch) -> dict[str, Any]:
    until = f"–{clock(one.end_s)}" if one.end_s - one.start_s > 1 else ""
    told = [
        f"run {found.run_id}",
        f"{found.step} {found.direction}",
        f"{clock(one.start_s)}{until}",
        f"n = {one.n:,} I/Os",
        f"p50 ≤ {bare('lat_ns', one.p50_ns)}",
        f"p99 ≤ {bare('lat_ns', one.p99_ns)}" if one.p99_ns is not None else "",
        f"highest ≤ {bare('lat_ns', one.max_ns)}",
    ]
    words = " · ".join(word for word in told if word)
    return {"start": one.start_s, "end": one.end_s, "words": words}


def _subtitle(found: LatencyMap) -> str:
    width = max((one.end_s - one.start_s for one in found.stretches), default=1)
    each = "second" if width <= 1 else f"{width:g} s"
    return (
        f"time of one I/O (logarithmic) in each {each}; "
        f"n = {found.n:,} I/Os, no interval (n = 1 run)"
    )


def _sentence(found: LatencyMap) -> str:
    worst = max(found.stretches, key=lambda one: one.p50_ns, default=None)
    best = min(found.stretches, key=lambda one: one.p50_ns, default=None)
    if worst is None or best is None:
        return f"No latencies of {found.step}."
    return (
        f"{found.step} {found.direction} over {clock(found.seconds)}: the median lay between "
        f"{bare('lat_ns', best.p50_ns)} (at {clock(best.start_s)}) and "
        f"{bare('lat_ns', worst.p50_ns)} (at {clock(worst.start_s)}); the highest was "
        f"{bare('lat_ns', max(one.max_ns for one in found.stretches))}."
    )
