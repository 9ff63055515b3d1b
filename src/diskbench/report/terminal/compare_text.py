"""Two selections side by side for a terminal: both figures, the conclusion and its doubts."""

from __future__ import annotations

import textwrap
from itertools import groupby
from typing import TYPE_CHECKING

from diskbench.units import format_iops, format_latency_ns, format_mb_per_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from diskbench.model.comparison import Compared, Comparison, Difference, Replicated, Side

NO_INTERVAL = "no interval (n = {n})"
_MOST_SHOWN = 6


def figure_text(metric: str) -> Callable[[float], str]:
    """The function that formats a value of `metric` with its unit."""
    if metric == "iops":
        return lambda value: f"{format_iops(value)} IOPS"
    if metric == "bytes_per_s":
        return lambda value: f"{format_mb_per_s(value)} MB/s"
    return format_latency_ns


def compare_lines(comparison: Comparison, *, width: int = 80) -> Iterator[str]:
    """The comparisons block by block, then the blocks that were not compared."""
    yield f"A  {_side(comparison.a)}"
    yield f"B  {_side(comparison.b)}"
    for block, group in groupby(comparison.compared, key=lambda line: line.block):
        lines = list(group)
        yield ""
        yield block
        differences = dict.fromkeys(difference for line in lines for difference in line.differences)
        yield from wrapped("  differ in ", "; ".join(map(difference_text, differences)), width)
        common = [doubt for doubt in lines[0].doubts if all(doubt in line.doubts for line in lines)]
        for doubt in common:
            yield from wrapped("  ! ", doubt, width)
        for line in lines:
            yield from _line(line, common, width)
    tests = sum(1 for line in comparison.compared if line.q is not None)
    if tests > 1:
        yield ""
        yield from wrapped(
            "", f"{tests} comparisons were judged together: of those called different at most 5 % "
            "are so by chance (Benjamini-Hochberg)", width,
        )  # fmt: skip
    if comparison.not_compared:
        yield ""
        yield "not compared"
    for left in comparison.not_compared:
        yield from wrapped("  ", f"{left.block}: {left.why}", width)


def _line(compared: Compared, common: Sequence[str], width: int) -> Iterator[str]:
    """One step and direction, without the doubts in `common`, which the block already shows."""
    show = figure_text(compared.metric)
    yield f"  {compared.step} {compared.direction}"
    yield from wrapped("    A  ", replicated_text(compared.a, show), width)
    yield from wrapped("    B  ", replicated_text(compared.b, show), width)
    yield from wrapped("    = ", compared.sentence, width)
    for doubt in compared.doubts:
        if doubt not in common:
            yield from wrapped("    ! ", doubt, width)


def replicated_text(figure: Replicated, show: Callable[[float], str]) -> str:
    """`2,985 IOPS (2,970 to 3,010, n = 10), CoV 0.8 %`; without an interval it says so, and how
    many more replicates would give a narrow interval."""
    between = (
        f"{show(figure.interval.low)} to {show(figure.interval.high)}, n = {figure.machines}"
        if figure.interval
        else NO_INTERVAL.format(n=figure.machines)
    )
    middle = show(figure.median)
    parts = [f"{middle} ({between})" if figure.interval else f"{middle}, {between}"]
    if figure.variation is not None:
        parts.append(f"CoV {figure.variation * 100:.1f} %")
    if figure.more is None:
        parts.append("too noisy for ±5 %")
    elif figure.more:
        what = "more for ±5 %" if figure.interval else "more machines make ten"
        parts.append(f"{figure.more} {what}")
    if figure.outliers:
        parts.append(f"far off: {', '.join(figure.outliers)}")
    return ", ".join(parts)


def _side(side: Side) -> str:
    count = len(side.trials)
    return ", ".join((f"{side.asked}: {count} trial{'s'[: count != 1]}", *side.marks))


def difference_text(difference: Difference) -> str:
    """`kernel 6.1 → 6.5`."""
    return f"{difference.fact} {_some(difference.a)} → {_some(difference.b)}"


def _some(values: tuple[str, ...]) -> str:
    more = len(values) - _MOST_SHOWN
    return ", ".join(values[:_MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")


def wrapped(head: str, text: str, width: int) -> list[str]:
    """`text` after `head`, wrapped at `width` columns; no line for an empty text."""
    if not text:
        return []
    return textwrap.wrap(
        text,
        max(width, 40),
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )
