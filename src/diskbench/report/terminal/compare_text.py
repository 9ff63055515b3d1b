"""Two selections side by side for a terminal: both figures, what they say of each other, and what
to know before believing it."""

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
    """How a value of this metric is shown, with its unit."""
    if metric == "iops":
        return lambda value: f"{format_iops(value)} IOPS"
    if metric == "bytes_per_s":
        return lambda value: f"{format_mb_per_s(value)} MB/s"
    return format_latency_ns


def compare_lines(found: Comparison, *, width: int = 80) -> Iterator[str]:
    """What was compared, block by block, and what was not."""
    yield f"A  {_side(found.a)}"
    yield f"B  {_side(found.b)}"
    for block, group in groupby(found.compared, key=lambda one: one.block):
        lines = list(group)
        yield ""
        yield block
        differences = dict.fromkeys(each for one in lines for each in one.differences)
        yield from wrapped("  apart by ", "; ".join(map(difference_text, differences)), width)
        common = [one for one in lines[0].doubts if all(one in each.doubts for each in lines)]
        for doubt in common:
            yield from wrapped("  ! ", doubt, width)
        for one in lines:
            yield from _line(one, common, width)
    tests = sum(1 for one in found.compared if one.q is not None)
    if tests > 1:
        yield ""
        yield from wrapped(
            "", f"{tests} comparisons were judged together: of those called different at most 5 % "
            "are so by chance (Benjamini-Hochberg)", width,
        )  # fmt: skip
    if found.not_compared:
        yield ""
        yield "not compared"
    for left in found.not_compared:
        yield from wrapped("  ", f"{left.block}: {left.why}", width)


def _line(one: Compared, told: Sequence[str], width: int) -> Iterator[str]:
    """One step and direction, without the doubts that were told of the whole block."""
    show = figure_text(one.metric)
    yield f"  {one.step} {one.direction}"
    yield from wrapped("    A  ", replicated_text(one.a, show), width)
    yield from wrapped("    B  ", replicated_text(one.b, show), width)
    yield from wrapped("    = ", one.sentence, width)
    for doubt in one.doubts:
        if doubt not in told:
            yield from wrapped("    ! ", doubt, width)


def replicated_text(one: Replicated, show: Callable[[float], str]) -> str:
    """`2,985 IOPS (2,970 to 3,010, n = 10), CoV 0.8 %`; without an interval the words for it, and
    how many more replicates would make one narrow."""
    between = (
        f"{show(one.interval.low)} to {show(one.interval.high)}, n = {one.machines}"
        if one.interval
        else NO_INTERVAL.format(n=one.machines)
    )
    middle = show(one.median)
    parts = [f"{middle} ({between})" if one.interval else f"{middle}, {between}"]
    if one.variation is not None:
        parts.append(f"CoV {one.variation * 100:.1f} %")
    if one.more is None:
        parts.append("too noisy for ±5 %")
    elif one.more:
        what = "more for ±5 %" if one.interval else "more machines make ten"
        parts.append(f"{one.more} {what}")
    if one.outliers:
        parts.append(f"far off: {', '.join(one.outliers)}")
    return ", ".join(parts)


def _side(side: Side) -> str:
    count = len(side.trials)
    return ", ".join((f"{side.asked}: {count} trial{'s'[: count != 1]}", *side.marks))


def difference_text(one: Difference) -> str:
    """`kernel 6.1 → 6.5`."""
    return f"{one.fact} {_some(one.a)} → {_some(one.b)}"


def _some(values: tuple[str, ...]) -> str:
    more = len(values) - _MOST_SHOWN
    return ", ".join(values[:_MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")


def wrapped(head: str, text: str, width: int) -> list[str]:
    """Text behind a head, no wider than `width`; nothing for no text."""
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
