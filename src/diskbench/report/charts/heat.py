"""Heat: values as seven steps of colour, equal factors apart, with a label for each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from diskbench.report.charts.measure import bare

if TYPE_CHECKING:
    import altair as alt

    from diskbench.report.charts.palette import Palette

_TITLES = {"iops": "IOPS", "bytes_per_s": "MB/s", "ios": "I/Os a second"}


def bounds_of(values: Sequence[float], steps: int) -> list[float]:
    """Upper bounds of all steps but the last; fewer steps if the values differ little, because a
    step is at least a factor of 1.1: less is noise. A value of zero belongs to the first step."""
    known = [value for value in values if value > 0]
    if not known:
        return []
    low, high = min(known), max(known)
    count = max(1, min(steps, round(math.log(high / low) / math.log(1.1)))) if high > low else 1
    factor = (high / low) ** (1 / count)
    return [low * factor**step for step in range(1, count)]


def place_of(value: float, bounds: Sequence[float]) -> int:
    """The step that a value belongs to, from 0."""
    return sum(value >= bound for bound in bounds)


def words_of(bounds: Sequence[float], metric: str = "ios") -> list[str]:
    """The label of each step: `<10`, `≥10`, `≥100` …"""
    if not bounds:
        return ["all"]
    texts = [bare(metric, bound) if metric != "ios" else _short(bound) for bound in bounds]
    return [f"<{texts[0]}", *(f"≥{text}" for text in texts)]


def heat_colour(bounds: Sequence[float], palette: Palette, *, metric: str = "ios") -> alt.Color:
    """The colour of a step in field `heat`, with a legend of the steps below the picture."""
    import altair as alt

    words = words_of(bounds, metric)
    return alt.Color(
        "heat:O",
        scale=alt.Scale(domain=list(range(len(words))), range=list(palette.heat[: len(words)])),
        legend=alt.Legend(
            orient="bottom",
            direction="horizontal",
            title=_TITLES[metric],
            titleColor=palette.muted,
            titleFontWeight="normal",
            symbolType="square",
            symbolStrokeWidth=0,
            symbolOpacity=1,
            columns=min(len(words), 4),  # the page's font may be wider than Vega's
            labelExpr=f"{words}[datum.value]",
            columnPadding=14,
        ),
    )


def _short(value: float) -> str:
    if value >= 10_000:
        return f"{value / 1000:.0f}k"
    if value >= 1000:
        return f"{value / 1000:.1f}k"
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"
