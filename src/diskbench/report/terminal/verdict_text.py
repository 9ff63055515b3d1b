"""Verdicts in words: a line a stretch with what was promised, measured and in the way. 80 columns.

Doubts that a step's warnings tell stand under the table of results; here they are only named.
Figures are of one run: of several the one in the middle (analysis/shown.py), at each level.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from diskbench.analysis.shown import (
    at_one_level,
    believe_of,
    reasons_over,
    shown_stretch,
    verdict_doubts,
    verdicts_by_step,
)
from diskbench.model.expectation import LIMIT_WORDS
from diskbench.model.verdict import LIMITER_WORDS, LimiterName, believe_words
from diskbench.report.assemble.phase_lines import clock
from diskbench.units import KIB, format_iops, format_mb_per_s

if TYPE_CHECKING:
    from diskbench.model.doubts import Reason
    from diskbench.model.verdict import Judged, Promised, Verdict

WIDTH = 80
_NONE = "–"
_HEAD = ("", "promised", "measured", "ratio", "limited by", "believe")
_LARGE_BLOCK = 64 * KIB
"""From this size of block on a rate is told in MB/s."""
_SHORT: dict[LimiterName, str] = {
    "client": "load generator CPU",
    "other-process": "another process",
    "interrupts": "interrupts",
    "steal": "stolen CPU time",
    "page-cache": "page cache",
    "credit": "credit used up",
}
_SAID_BY_RATIO = frozenset(LIMIT_WORDS) - {"latency"}
"""Limits whose figures stand in the table already."""
_MOST_STEPS = 4
_MOST_LEVELS = 6


class TextLine(NamedTuple):
    """One line, and how it is to look: `head`, `row`, `doubt` or `ground`."""

    kind: str
    text: str


def verdict_lines(found: Sequence[Verdict]) -> list[TextLine]:
    """The table of the verdicts on the runs of one trial, in order, then what each rests on. Empty
    without any."""
    if not found:
        return []
    steps = verdicts_by_step(found)
    rows = [row for name, of in steps.items() for row in _rows(name, of)]
    wide = [max(len(row[at]) for row in (_HEAD, *rows)) for at in range(len(_HEAD))]
    wide[0] = min(wide[0], max(WIDTH - sum(wide[1:]) - 2 * (len(_HEAD) - 1), 12))
    lines = [
        TextLine("head", _line(_HEAD, wide)),
        *(TextLine("row", _line(row, wide)) for row in rows),
    ]
    lines += [TextLine("ground", text) for text in _grounds(steps)]
    return lines + [TextLine("doubt", text) for text in _doubts(steps)]


def figure(iops: float | None, bytes_per_s: float | None) -> str:
    """`3,000` IOPS, or `98.0 MB/s` of large blocks and where there are no others."""
    large = iops and bytes_per_s and round(bytes_per_s / iops) >= _LARGE_BLOCK - 1
    if iops is not None and not large:
        return format_iops(iops)
    return f"{format_mb_per_s(bytes_per_s)} MB/s" if bytes_per_s is not None else _NONE


def promised_words(one: Promised) -> str:
    """`3,000 IOPS`, or `93.8 MB/s` of large blocks."""
    told = figure(one.iops, one.bytes_per_s)
    return told if told.endswith("/s") else f"{told} IOPS"


def _line(row: Sequence[str], wide: Sequence[int]) -> str:
    name = row[0] if len(row[0]) <= wide[0] else f"{row[0][: wide[0] - 1]}…"
    cells = [f"{name:<{wide[0]}}", *(f"{row[at]:>{wide[at]}}" for at in (1, 2, 3))]
    return "  ".join([*cells, f"{row[4]:<{wide[4]}}", row[5]]).rstrip()


def _rows(name: str, of_runs: Sequence[Verdict]) -> Iterator[tuple[str, ...]]:
    if len(of_runs) == 1 and len(of_runs[0].stretches) > 1:
        yield (name, "", "", "", "", of_runs[0].believe)
        for stretch in of_runs[0].stretches:
            yield (f"  {_when(stretch)}", *_cells([stretch]), "")
        return
    levels = _levels(of_runs)
    if len(levels) == 1:
        kept = at_one_level(of_runs)
        kind = kept[0].stands_for.kind
        told = f"{name} ({kind})" if kind == "burst" else name
        yield (told, *_cells([one.stands_for for one in kept]), believe_of(of_runs))
        return
    yield (f"{name}, by run", "", "", "", "", "")
    at = 1
    for group in levels:
        last = at + len(group) - 1
        runs = f"{at}" if at == last else f"{at}–{last}"
        kind = group[0].stands_for.kind or "level"
        yield (f"  {kind} {runs}", *_cells([one.stands_for for one in group]), believe_of(group))
        at = last + 1


def _levels(of_runs: Sequence[Verdict]) -> list[list[Verdict]]:
    """Runs next to each other at levels of one kind; all together where that goes to and fro."""
    groups = groupby(of_runs, key=lambda one: one.stands_for.kind or "level")
    found = [list(group) for _, group in groups]
    return found if len(found) <= _MOST_LEVELS else [list(of_runs)]


def _cells(found: Sequence[Judged]) -> tuple[str, str, str, str]:
    """Promised, measured and ratio of the run in the middle, and the limit that most of them
    name."""
    here = shown_stretch(found)
    named = Counter(one.limiter.name for one in found).most_common(1)[0][0]
    return (
        figure(here.promised.iops, here.promised.bytes_per_s) if here.promised else _NONE,
        figure(here.iops, here.bytes_per_s),
        f"{here.ratio:.0%}" if here.ratio is not None else _NONE,
        _SHORT.get(named, LIMITER_WORDS[named]),
    )


def _when(one: Judged) -> str:
    kind = one.kind or "level"
    return kind if one.start_s is None else f"{kind} at {clock(one.start_s)}"


def _grounds(steps: dict[str, list[Verdict]]) -> Iterator[str]:
    """What shows a limit, of a run in the middle of those with it, where the ratio does not."""
    for name, of_runs in steps.items():
        told: dict[LimiterName, list[Judged]] = {}
        several = len({stretch.kind for one in of_runs for stretch in one.stretches}) > 1
        for one in of_runs:
            for stretch in one.stretches if len(of_runs) == 1 else (one.stands_for,):
                told.setdefault(stretch.limiter.name, []).append(stretch)
        for limit, found in told.items():
            stretch = shown_stretch(found)
            counted = any("counted as" in text for text in stretch.limiter.evidence)
            if not stretch.limiter.evidence or (limit in _SAID_BY_RATIO and not counted):
                continue
            of = f"{name}, {stretch.kind}" if several and stretch.kind else name
            yield from _folded(f"{of}: {'; '.join(stretch.limiter.evidence)}")


def _doubts(steps: dict[str, list[Verdict]]) -> Iterator[str]:
    """What is not simply believed, and what else must be known; like words told once."""
    said: dict[str, list[str]] = {}
    apart: dict[Reason, list[str]] = {}
    for name, of_runs in steps.items():
        believe = believe_of(of_runs)
        if believe != "yes":
            reasons = reasons_over(of_runs)
            said.setdefault(believe_words(believe, reasons), []).append(name)
        for reason in verdict_doubts(of_runs):
            apart.setdefault(reason, []).append(name)
    for words, names in said.items():
        yield from _folded(f"{_names(names)}: {words}", lead="! ")
    for reason, names in apart.items():
        advice = f"; {reason.advice}" if reason.advice else ""
        yield from _folded(f"{_names(names)}: {reason.message}{advice}")


def _names(names: Sequence[str]) -> str:
    more = len(names) - _MOST_STEPS
    shown = ", ".join(names[:_MOST_STEPS])
    return f"{shown} and {more} more" if more > 0 else shown


def _folded(text: str, *, lead: str = "  ") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=lead, subsequent_indent="    ", break_on_hyphens=False
    )
