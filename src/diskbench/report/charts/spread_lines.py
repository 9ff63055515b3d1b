"""Latency distributions as lines: the CDF, and the percentile plot with its tail drawn out.

percentile plot   x = −log₁₀(1 − p): 90, 99, 99.9 and 99.99 % lie equally far apart
last point        the highest p that N I/Os support, pᴺ = 0.05 (MR-10)
"""

import json
import math
from collections.abc import Sequence

from diskbench.model.ids import short
from diskbench.report.assemble.latencies import SHOWN, Distribution
from diskbench.report.charts import measure
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import described, layer, layered
from diskbench.report.charts.measure import Spec
from diskbench.report.charts.palette import OF_DIRECTION, SERIES
from diskbench.report.charts.point import Row
from diskbench.units import counted

WIDTH = 300
HEIGHT = 150
MOST_LINES = 6
_MOST_POINTS = 240
_DASHES = ([1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [4, 4], [1, 3])
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")


def percentile_chart(spread: Sequence[Distribution]) -> ChartFigure:
    """Latency up to each percentile, at most six lines, with marks at 50, 90, 99, 99.9 … %."""
    shown = _chosen(spread)
    lines = [row for name, of in shown.items() for row in _tail(of, name)]
    furthest = max((row["x"] for row in lines), default=2.0)
    marked = [p for p in SHOWN if _x(p) <= furthest + 1e-9]
    labels = {f"{_x(p):.4f}": f"{100 * p:g}" for p in marked}
    axis = {
        "values": [round(_x(p), 4) for p in marked],
        "labelExpr": f"({json.dumps(labels)})[format(datum.value, '.4f')]",
        "title": "percentile (%)",
    }
    at = {
        "x": measure.amount("x", scale={"domain": [0, furthest * 1.02], "nice": False}, axis=axis),
        "y": measure.latency_axis("ns", measure.log_domain(row["ns"] for row in lines)),
    }
    of_io = "time of one I/O up to each percentile, both axes logarithmic"
    words = "percentiles", "Latency percentiles", of_io
    return _figure(spread, words, lines, _marks(shown), at)


def cdf_chart(spread: Sequence[Distribution]) -> ChartFigure:
    """The share of I/Os up to each latency, at most six lines."""
    shown = _chosen(spread)
    lines = []
    for name, of in shown.items():  # the share of I/Os up to each bucket
        shares = zip(of.latency_ns, of.shares(), strict=True)
        corners = [{"ns": float(ns), "share": float(p), "line": name} for ns, p in shares]
        lines += _fewer(corners, "share")
    share = {"format": "%", "values": [0, 0.25, 0.5, 0.75, 1], "title": None, "minExtent": 34}
    domain = measure.log_domain(row["ns"] for row in lines)
    at = {
        "x": measure.value_axis("ns", "lat_ns", domain, log=True, title=None, labelPadding=7),
        "y": measure.amount("share", scale={"domain": [0, 1]}, axis=share),
    }
    marks = [mark for mark in _marks(shown) if mark["share"] < 0.9999]
    words = "cdf", "Latency distribution", "share of I/Os that took at most a given time"
    return _figure(spread, words, lines, marks, at, "step-after")


Shown = dict[str, Distribution]
"""The distributions that are drawn, by the name of their line."""


def _chosen(spread: Sequence[Distribution]) -> Shown:
    """At most six distributions, evenly chosen, with the first and the last; by the shortest
    distinct names of their lines: direction, step, or both; then the run."""
    if len(spread) > MOST_LINES:
        last = len(spread) - 1
        spread = [spread[round(place * last / (MOST_LINES - 1))] for place in range(MOST_LINES)]
    several_steps = len({of.step for of in spread}) > 1
    several_runs = len({of.run_id for of in spread}) > 1
    names: Shown = {}
    for of in spread:
        words = [of.step] if several_steps else []
        words += [of.direction] if not several_steps or of.direction not in of.step else []
        words += [f"run {short(of.run_id)}"] if several_runs else []
        name = " ".join(words)
        names[f"{name} {of.step_index}" if name in names else name] = of
    return names


def _figure(
    spread: Sequence[Distribution],
    words: tuple[str, str, str],
    lines: Sequence[Row],
    marks: Sequence[Row],
    at: dict[str, Spec],
    interpolate: str = "linear",
) -> ChartFigure:
    """`words` are the kind of chart, its title, and what it shows."""
    shown, (kind, title, shows) = _chosen(spread), words
    legend = {
        "title": None,
        "columns": 1 if measure.text_room(max(map(len, shown))) > WIDTH / 2 else 2,
        "labelLimit": 0,
        "symbolStrokeWidth": 0,
        "columnPadding": 24,
    } if len(shown) > 1 else None  # fmt: skip
    # The colours of the directions if they distinguish the lines. Fewer names than dashes, shapes
    # and colours of series: at most six.
    directions = [of.direction for of in shown.values()]
    alone = len(set(directions)) == len(directions)
    colours = [OF_DIRECTION[name] for name in directions] if alone else SERIES
    colour = measure.by_name("line", dict(zip(shown, colours, strict=False)), legend)
    dash = measure.by_name("line", dict(zip(shown, _DASHES, strict=False)))
    shape = measure.by_name("line", dict(zip(shown, _SHAPES, strict=False)), legend)
    layers = [
        layer("line", lines, at | {"color": colour, "strokeDash": dash}, strokeWidth=1.8,
              interpolate=interpolate, strokeJoin="round"),
        described("point", marks, at | {"color": colour, "shape": shape}, filled=True, size=42,
                  opacity=1),
    ]  # fmt: skip
    places = sorted({of.step_index for of in shown.values()})
    return ChartFigure(
        title=title,
        subtitle=f"{shows}; {_counts(shown, len(spread))}",
        drawing=lambda _: layered(layers, WIDTH, HEIGHT),
        id=f"{kind}-{'-'.join(map(str, places))}",
        alt=_quantiles_in_words(shown),
    )


def _x(share: float) -> float:
    """Where a share of I/Os stands in a percentile plot."""
    return -math.log10(max(1 - share, 1e-12))


def _tail(distribution: Distribution, name: str) -> list[Row]:
    """The line of a percentile plot: a bucket is drawn at the share of I/Os up to it."""
    shares = zip(distribution.latency_ns, distribution.shares(), strict=True)
    corners = [(0.0, float(distribution.latency_ns[0]))] if distribution.n else []
    corners += [(_x(p), float(ns)) for ns, p in shares if p <= distribution.highest]
    last = distribution.quantile(distribution.highest * (1 - 1e-12))
    corners += [] if last is None else [(_x(distribution.highest), last)]
    return _fewer([{"x": x, "ns": ns, "line": name} for x, ns in corners], "x")


def _fewer(corners: list[Row], along: str) -> list[Row]:
    """At most _MOST_POINTS corners, evenly spaced along an axis, with both ends. A CDF only rises,
    so it has no peaks to lose."""
    if len(corners) <= _MOST_POINTS:
        return corners
    low, high = corners[0][along], corners[-1][along]
    width = (high - low) / (_MOST_POINTS - 2) or 1.0
    by_pixel = {int((corner[along] - low) / width): corner for corner in corners}
    return [corners[0], *by_pixel.values()]


def _quantiles(distribution: Distribution) -> list[tuple[float, float, str]]:
    """The shares that are marked, their latencies, and both as text: `p99 1.20 ms`."""
    return [
        (share, ns, f"p{100 * share:g} {measure.bare('lat_ns', ns)}")
        for share in SHOWN
        if (ns := distribution.quantile(share)) is not None
    ]


def _marks(shown: Shown) -> list[Row]:
    """The quantiles on the lines; `share` is their fraction."""
    return [
        {
            "x": _x(share),
            "ns": ns,
            "share": share,
            "line": name,
            "description": f"run {short(of.run_id)} · {name} · {figure} · n = {of.n:,}",
        }
        for name, of in shown.items()
        for share, ns, figure in _quantiles(of)
    ]


def _counts(shown: Shown, of: int) -> str:
    """`n = 581,985 I/Os; no interval (n = 1 run)`."""
    runs = len({one.run_id for one in shown.values()})
    words = [
        f"n = {measure.span(one.n for one in shown.values())} I/Os",
        f"no interval (n = {counted(runs, 'run')})",
        f"{len(shown)} of {of} lines" if of > len(shown) else "",
        "completion latency" if any(one.completion_only for one in shown.values()) else "",
    ]
    return "; ".join(filter(None, words))


def _quantiles_in_words(shown: Shown) -> str:
    parts = [
        f"{name}: {', '.join(figure for *_, figure in _quantiles(of)) or 'too few I/Os'}"
        for name, of in shown.items()
    ]
    return f"Latency of {'; '.join(parts)}."
