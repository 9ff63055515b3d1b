"""Latency distributions as lines: the CDF, and the percentile plot with its tail drawn out.

percentile plot   x = −log₁₀(1 − p): 90, 99, 99.9 and 99.99 % lie equally far apart
last point        the highest p that N I/Os support, pᴺ = 0.05 (MR-10)
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from diskbench.report.assemble.chart_data import ChartData
from diskbench.report.assemble.latencies import SHOWN, Distribution
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import layer, layered
from diskbench.report.charts.measure import (
    Channel,
    Spec,
    amount,
    bare,
    by_name,
    label_room,
    latency_axis,
    log_domain,
    named,
    value_axis,
)
from diskbench.report.charts.palette import Palette
from diskbench.report.charts.point import Row
from diskbench.report.charts.registry import chart

WIDTH = 300
HEIGHT = 150
MOST_LINES = 6
_MOST_POINTS = 240
_DASHES = ([1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [4, 4], [1, 3])
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")


def percentile_chart(spread: Sequence[Distribution], palette: Palette) -> ChartFigure:
    """Latency up to each percentile, at most six lines, with marks at 50, 90, 99, 99.9 … %."""
    spread, of = _some(spread), len(spread)
    names = _names(spread)
    lines = list(chain.from_iterable(map(_tail, spread, names)))
    furthest = max((corner["x"] for corner in lines), default=2.0)
    shown = [p for p in SHOWN if -math.log10(1 - p) <= furthest + 1e-9]
    places = [round(-math.log10(1 - p), 4) for p in shown]
    words = {f"{place:.4f}": f"{100 * p:g}" for place, p in zip(places, shown, strict=True)}
    x = amount(
        "x",
        scale={"domain": [0, furthest * 1.02], "nice": False},
        axis={
            "values": places,
            "labelExpr": f"({json.dumps(words)})[format(datum.value, '.4f')]",
            "title": "percentile (%)",
            "domain": False,
            "ticks": False,
        },
    )
    at = {"x": x, "y": latency_axis("ns", log_domain(corner["ns"] for corner in lines))}
    marks = list(chain.from_iterable(map(_marks, spread, names)))
    return ChartFigure(
        title="Latency percentiles",
        subtitle="time of one I/O up to each percentile, both axes logarithmic; "
        f"{_counts(spread, of)}",
        drawing=lambda _: _drawn(spread, names, palette, lines, marks, at),
        id=_id("percentiles", spread),
        alt=_sentence(spread, names),
    )


def cdf_chart(spread: Sequence[Distribution], palette: Palette) -> ChartFigure:
    """The share of I/Os up to each latency, at most six lines."""
    spread, of = _some(spread), len(spread)
    names = _names(spread)
    lines = list(chain.from_iterable(map(_shares, spread, names)))
    marks = [
        mark for mark in chain.from_iterable(map(_marks, spread, names)) if mark["share"] < 0.9999
    ]
    domain = log_domain(corner["ns"] for corner in lines)
    share = {"format": "%", "values": [0, 0.25, 0.5, 0.75, 1], "title": None, "domain": False,
             "ticks": False, "minExtent": 34}  # fmt: skip
    at = {
        "x": value_axis("ns", "lat_ns", domain, log=True, title=None),
        "y": amount("share", scale={"domain": [0, 1]}, axis=share),
    }
    return ChartFigure(
        title="Latency distribution",
        subtitle=f"share of I/Os that took at most a given time; {_counts(spread, of)}",
        drawing=lambda _: _drawn(spread, names, palette, lines, marks, at, "step-after"),
        id=_id("cdf", spread),
        alt=_sentence(spread, names),
    )


def _drawn(
    spread: Sequence[Distribution],
    names: Sequence[str],
    palette: Palette,
    lines: Sequence[Row],
    marks: Sequence[Row],
    at: dict[str, Channel],
    interpolate: str = "linear",
) -> Spec:
    legend = {
        "orient": "top",
        "title": None,
        "columns": 1 if label_room(names) > WIDTH / 2 else 2,
        "labelLimit": 0,
        "symbolStrokeWidth": 0,
        "columnPadding": 24,
    }
    shown = legend if len(spread) > 1 else None
    # Fewer names than dashes and shapes: at most six.
    colour = by_name("line", dict(zip(names, _colours(spread, palette), strict=True)), shown)
    dash = by_name("line", dict(zip(names, _DASHES, strict=False)))
    shape = by_name("line", dict(zip(names, _SHAPES, strict=False)), shown)
    told = {"color": colour, "shape": shape, "description": named("words")}
    layers = [
        layer("line", lines, at | {"color": colour, "strokeDash": dash}, strokeWidth=1.8,
              interpolate=interpolate, strokeJoin="round"),
        layer("point", marks, at | told, filled=True, size=42, opacity=1),
    ]  # fmt: skip
    return layered(layers, WIDTH, HEIGHT)


def _colours(spread: Sequence[Distribution], palette: Palette) -> list[str]:
    """The colours of the directions if they distinguish the lines, else one for each line."""
    directions = [distribution.direction for distribution in spread]
    if len(set(directions)) == len(directions):
        return [palette.direction(name) for name in directions]
    return list(palette.series[: len(spread)])


def _names(spread: Sequence[Distribution]) -> list[str]:
    """The shortest distinct names of the lines: direction, step, or both; then the run."""
    several_steps = len({distribution.step for distribution in spread}) > 1
    several_runs = len({distribution.run_id for distribution in spread}) > 1
    names = []
    for distribution in spread:
        words = [distribution.step] if several_steps else []
        if not several_steps or distribution.direction not in distribution.step:
            words.append(distribution.direction)
        if several_runs:
            words.append(f"run {distribution.run_id}")
        names.append(" ".join(words))
    return names


def _tail(distribution: Distribution, name: str) -> list[Row]:
    """The line of a percentile plot: a bucket is drawn at the share of I/Os up to it."""
    shares = zip(distribution.latency_ns, distribution.shares(), strict=True)
    corners = [
        (-math.log10(max(1 - p, 1e-12)), float(ns)) for ns, p in shares if p <= distribution.highest
    ]
    first = [(0.0, float(distribution.latency_ns[0]))] if distribution.n else []
    last = distribution.quantile(distribution.highest * (1 - 1e-12))
    if last is not None:
        corners.append((-math.log10(1 - distribution.highest), last))
    rows = [{"x": x, "ns": ns, "line": name} for x, ns in first + corners]
    return _fewer(rows, lambda row: row["x"])


def _shares(distribution: Distribution, name: str) -> list[Row]:
    rows = [
        {"ns": float(ns), "share": float(p), "line": name}
        for ns, p in zip(distribution.latency_ns, distribution.shares(), strict=True)
    ]
    return _fewer(rows, lambda row: row["share"])


def _fewer(corners: list[Row], along: Callable[[Row], float]) -> list[Row]:
    """At most _MOST_POINTS corners, evenly spaced along an axis, with both ends. A CDF only rises,
    so it has no peaks to lose."""
    if len(corners) <= _MOST_POINTS:
        return corners
    low, high = along(corners[0]), along(corners[-1])
    width = (high - low) / (_MOST_POINTS - 2) or 1.0
    by_pixel = {int((along(corner) - low) / width): corner for corner in corners}
    return [corners[0], *by_pixel.values()]


def _marks(distribution: Distribution, name: str) -> list[Row]:
    """The quantiles on a line; `share` is their fraction."""
    marks = []
    for share in SHOWN:
        ns = distribution.quantile(share)
        if ns is None:
            continue
        figure = f"p{100 * share:g} {bare('lat_ns', ns)}"
        words = f"run {distribution.run_id} · {name} · {figure} · n = {distribution.n:,}"
        x = -math.log10(1 - share)
        marks.append({"x": x, "ns": ns, "share": share, "line": name, "words": words})
    return marks


def _some(spread: Sequence[Distribution]) -> Sequence[Distribution]:
    """At most six distributions, evenly chosen, with the first and the last."""
    if len(spread) <= MOST_LINES:
        return spread
    last = len(spread) - 1
    return [spread[round(place * last / (MOST_LINES - 1))] for place in range(MOST_LINES)]


def _counts(spread: Sequence[Distribution], of: int) -> str:
    """`n = 581,985 I/Os; no interval (n = 1 run)`."""
    counts = sorted(distribution.n for distribution in spread)
    if not counts:
        return "n = 0 I/Os; no interval (n = 0 runs)"
    many = f"{counts[0]:,}" if counts[0] == counts[-1] else f"{counts[0]:,}–{counts[-1]:,}"
    runs = len({distribution.run_id for distribution in spread})
    text = f"n = {many} I/Os; no interval (n = {runs} run{'' if runs == 1 else 's'})"
    if of > len(spread):
        text += f"; {len(spread)} of {of} lines"
    return text + (
        "; completion latency"
        if any(distribution.completion_only for distribution in spread)
        else ""
    )


def _sentence(spread: Sequence[Distribution], names: Sequence[str]) -> str:
    parts = []
    for distribution, name in zip(spread, names, strict=True):
        known = [(share, distribution.quantile(share)) for share in SHOWN]
        words = [f"p{100 * p:g} {bare('lat_ns', ns)}" for p, ns in known if ns is not None]
        parts.append(f"{name}: {', '.join(words) or 'too few I/Os'}")
    return f"Latency of {'; '.join(parts)}."


def _id(kind: str, spread: Sequence[Distribution]) -> str:
    places = sorted({distribution.step_index for distribution in spread})
    return f"{kind}-{'-'.join(map(str, places))}"


@chart(
    "percentiles",
    title="latency up to each percentile, with the tail stretched",
    needs="the evidence of one run",
    rank=40,
)
def _percentiles(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    if data.distributions:
        yield percentile_chart(data.distributions, palette)


@chart(
    "cdf",
    title="the share of I/Os that took at most a given time",
    needs="the evidence of one run",
    rank=50,
)
def _shares_of_run(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    if data.distributions:
        yield cdf_chart(data.distributions, palette)
