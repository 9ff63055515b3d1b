"""Two selections side by side for a terminal: both figures, the conclusion and its doubts."""

from __future__ import annotations

import textwrap
from itertools import groupby
from typing import TYPE_CHECKING

from diskbench.analysis.compare_sentence import percent
from diskbench.units import format_iops, format_latency_ns, format_mb_per_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from diskbench.model.comparison import (
        Compared,
        Comparison,
        Difference,
        Finding,
        Metric,
        Replicated,
        Side,
    )

NO_INTERVAL = "no interval (n = {n})"
_MOST_SHOWN = 6
_GAP = "  "
_NARROWEST = 12
_METRICS: dict[Metric, str] = {
    "iops": "IOPS",
    "bytes_per_s": "MB/s",
    "lat_mean_ns": "mean",
    "p50_ns": "p50",
    "p99_ns": "p99",
    "p99_9_ns": "p99.9",
}
_SIGNS: dict[Finding, str] = {"noise": "~", "too few": "?", "alike": "="}
_SIGN_WORDS = {
    "~": "may be chance",
    "=": "alike within 5 %",
    "?": "fewer than 6 pairs are too few for a test",
}


def figure_text(metric: str) -> Callable[[float], str]:
    """The function that formats a value of `metric` with its unit."""
    if metric == "iops":
        return lambda value: f"{format_iops(value)} IOPS"
    if metric == "bytes_per_s":
        return lambda value: f"{format_mb_per_s(value)} MB/s"
    return format_latency_ns


def compare_lines(
    comparison: Comparison, *, width: int = 80, verbose: bool = False
) -> Iterator[str]:
    """A table for each block of comparisons, its doubts, then what was not compared. `verbose` adds
    the replicates of both sides and each conclusion in words."""
    yield f"A  {_side(comparison.a)}"
    yield f"B  {_side(comparison.b)}"
    signs: set[str] = set()
    for block, group in groupby(comparison.compared, key=lambda line: line.block):
        lines = list(group)
        yield ""
        yield from wrapped("", block, width)
        differences = dict.fromkeys(difference for line in lines for difference in line.differences)
        yield from wrapped("  differ in ", "; ".join(map(difference_text, differences)), width)
        yield from _table(lines, width)
        signs |= {sign for line in lines if (sign := _SIGNS.get(line.finding, ""))}
        for doubt, steps in _doubts(lines).items():
            yield from wrapped("! ", doubt if not steps else f"{', '.join(steps)}: {doubt}", width)
        if verbose:
            # Of a figure measured once a side the table has said all.
            for line in lines:
                if line.a.trials > 1 or line.b.trials > 1:
                    yield from _in_words(line, width)
    if signs:
        yield ""
        yield "   ".join(f"{sign} {_SIGN_WORDS[sign]}" for sign in _SIGN_WORDS if sign in signs)
    tests = sum(1 for line in comparison.compared if line.q is not None)
    if verbose and tests > 1:
        yield ""
        yield from wrapped(
            "", f"{tests} comparisons, those of each figure judged together: of those called "
            "different at most 5 % are so by chance (Benjamini-Hochberg)", width,
        )  # fmt: skip
    if comparison.not_compared:
        yield ""
        yield "not compared"
    for unmatched in comparison.not_compared:
        yield from wrapped("  ", f"{unmatched.block}: {unmatched.why}", width)


def _table(lines: Sequence[Compared], width: int) -> Iterator[str]:
    """A row for each figure of each step: both sides and their change; where the median of the
    pairs' changes is another, that too; its interval, and p."""
    counts = {(line.n, line.blocks) for line in lines}
    of_pairs = any(percent(line.ratio) != percent(line.of_medians) for line in lines)
    between = ("in pairs",) if of_pairs else ()
    rows: list[tuple[str, ...]] = [
        ("step", "", "A", "B", "change", *between, _interval_head(counts), "p")
    ]
    before = None
    for line in lines:
        place = line.step, line.direction
        name = "" if place == before else " ".join(dict.fromkeys(place))
        before = place
        show = _bare(line.metric)
        rows.append(
            (
                name,
                _METRICS[line.metric],
                show(line.a.median),
                show(line.b.median),
                *_changes(line, of_pairs=of_pairs),
                _interval(line, alone=len(counts) == 1),
                "–" if line.p is None else f"{line.p:.3f}",
            )
        )
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    over = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    widths[0] = max(_NARROWEST, widths[0] - max(over, 0))
    for row in rows:
        name = row[0] if len(row[0]) <= widths[0] else f"{row[0][: widths[0] - 1]}…"
        cells = [name.ljust(widths[0]), row[1].ljust(widths[1])]
        cells += [cell.rjust(wide) for cell, wide in zip(row[2:], widths[2:], strict=True)]
        yield _GAP.join(cells).rstrip()


def _changes(line: Compared, *, of_pairs: bool) -> tuple[str, ...]:
    """The change of the figures that are shown, and that of the pairs. The sign of the finding
    stands beside the one that it is about."""
    of_ratio = f"{_SIGNS.get(line.finding, '')} {percent(line.ratio)}".strip()
    return (percent(line.of_medians), of_ratio) if of_pairs else (of_ratio,)


def _interval_head(counts: set[tuple[int, bool]]) -> str:
    """The head of the column of intervals, with n if it is the same for all rows."""
    if len(counts) != 1:
        return "95 % interval"
    ((n, blocks),) = counts
    return f"95 %, {n} block{'s'[: n != 1]}" if blocks else f"95 %, n = {n}"


def _interval(line: Compared, *, alone: bool) -> str:
    if line.interval is None:
        return "too few" if alone else f"too few, n = {line.n}"
    low, high = (percent(end).removesuffix(" %") for end in (line.interval.low, line.interval.high))
    return f"{low} to {high}" + ("" if alone else f", n = {line.n}")


def _bare(metric: str) -> Callable[[float], str]:
    """The function that formats a value of `metric`, whose unit stands beside it."""
    if metric == "iops":
        return format_iops
    return format_mb_per_s if metric == "bytes_per_s" else format_latency_ns


def _doubts(lines: Sequence[Compared]) -> dict[str, list[str]]:
    """Each doubt once, with the steps that it is about, and with the figures where it is not about
    all of them; nothing where it is about all lines."""
    by_doubt: dict[str, dict[str, list[str]]] = {}
    figures: dict[str, list[str]] = {}
    for line in lines:
        step, figure = f"{line.step} {line.direction}", _METRICS[line.metric]
        figures.setdefault(step, []).append(figure)
        for doubt in line.doubts:
            by_doubt.setdefault(doubt, {}).setdefault(step, []).append(figure)
    return {
        doubt: []
        if of == figures
        else [
            step if some == figures[step] else f"{step} ({', '.join(some)})"
            for step, some in of.items()
        ]
        for doubt, of in by_doubt.items()
    }


def _in_words(compared: Compared, width: int) -> Iterator[str]:
    """The replicates of both sides of one figure, and the conclusion."""
    show = figure_text(compared.metric)
    yield f"  {compared.step} {compared.direction}, {_METRICS[compared.metric]}"
    yield from wrapped("    A  ", replicated_text(compared.a, show), width)
    yield from wrapped("    B  ", replicated_text(compared.b, show), width)
    yield from wrapped("    = ", compared.sentence, width)


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
        repeats = f"{figure.more} more machine{'s'[: figure.more != 1]}"
        parts.append(
            f"±5 % needs {repeats}" if figure.interval else f"measure {repeats}, ten in all"
        )
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
