"""What the samples come to: medians, their ratio, a table."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.fidelity_originals import METRICS

WITHIN: Final = 0.10


@dataclass(frozen=True)
class Sample:
    """One run of one side.

    `position` is its place in the pair, `load` the load average before it began. `disturbed` says
    that somebody else dropped the page cache meanwhile: such a sample is kept, but not counted.
    """

    tool: str
    side: str
    repeat: int
    position: int
    load: float
    seconds: float
    disturbed: bool
    values: dict[str, float]


@dataclass(frozen=True)
class Compared:
    """One metric on both sides. `ratio` is ours by original, of the medians."""

    tool: str
    metric: str
    unit: str
    original_median: float
    original_range: tuple[float, float]
    ours_median: float
    ours_range: tuple[float, float]
    ratio: float
    within_10_percent: bool
    n: int


def compare(samples: Sequence[Sample]) -> list[Compared]:
    """Every metric that both sides have, in the order of METRICS. `n` is the smaller side's."""
    counted = [s for s in samples if not s.disturbed]
    found = (
        _compared(tool, metric, unit, [s for s in counted if s.tool == tool])
        for tool, metrics in METRICS.items()
        for metric, unit in metrics.items()
    )
    return [row for row in found if row is not None]


def _compared(tool: str, metric: str, unit: str, samples: Sequence[Sample]) -> Compared | None:
    original, ours = (
        [s.values[metric] for s in samples if s.side == side and metric in s.values]
        for side in ("original", "ours")
    )
    if not original or not ours:
        return None
    ratio = statistics.median(ours) / statistics.median(original)
    return Compared(
        tool=tool,
        metric=metric,
        unit=unit,
        original_median=statistics.median(original),
        original_range=(min(original), max(original)),
        ours_median=statistics.median(ours),
        ours_range=(min(ours), max(ours)),
        ratio=ratio,
        within_10_percent=abs(ratio - 1) <= WITHIN,
        n=min(len(original), len(ours)),
    )


def render(rows: Sequence[Compared]) -> str:
    """The comparison as a Markdown table; the smallest and largest stand in brackets."""
    lines = [
        "| metric | unit | original median | ours median | ratio | within 10 % | n |",
        "| --- | --- | ---: | ---: | ---: | --- | ---: |",
    ]
    for row in rows:
        cells = (
            f"{row.tool}: {row.metric}",
            row.unit,
            f"{short(row.original_median)} ({_range(row.original_range)})",
            f"{short(row.ours_median)} ({_range(row.ours_range)})",
            f"{row.ratio:.3f}",
            "yes" if row.within_10_percent else "**no**",
            str(row.n),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def short(value: float) -> str:
    """A figure with about four digits."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}"


def _range(limits: tuple[float, float]) -> str:
    return f"{short(limits[0])}–{short(limits[1])}"
