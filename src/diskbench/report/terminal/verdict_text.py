"""Verdicts as text of 80 columns: a line per stretch with promise, measurement and limit.

Doubts that come from a step's warnings are explained below the table of results; here they are
only named. Each figure is of one run: of several runs the median one at each level
(analysis/shown.py).
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from diskbench.analysis.shown import (
    at_one_level,
    doubted_run,
    limit_of,
    reasons_over,
    shown,
    shown_stretch,
    trust_of,
    verdict_doubts,
    verdicts_by_step,
)
from diskbench.model.doubts import OTHER_DISK, Reason, doubt_of, doubt_words
from diskbench.model.expectation import LIMIT_WORDS
from diskbench.model.verdict import Judged, LimiterName, Trust, Verdict
from diskbench.report.assemble.phases import clock
from diskbench.report.assemble.words import NONE, cut, figure, short_limit

WIDTH = 80
_HEAD = ("", "promised", "measured", "ratio", "limited by", "trust")
_OF_PROMISE = (1, 3)
"""Columns that are left out where nothing is promised of any step."""
_SAID_BY_RATIO = frozenset(LIMIT_WORDS) - {"latency"}
"""Limits whose figures the table already shows."""
_USE: dict[Trust, str] = {"no": "do not use this figure", "with care": "use with care"}
_MOST_STEPS = 4
_MOST_LEVELS = 6
_TWO = 2


class TextLine(NamedTuple):
    """One line and its style: `head`, `row`, `doubt` or `ground`."""

    kind: str
    text: str


def verdict_lines(
    verdicts: Sequence[Verdict], below: Collection[tuple[str, str]] = ()
) -> list[TextLine]:
    """The table of verdicts on the runs of one trial, in order, then the evidence of each. Empty
    without verdicts. `below` are the steps and codes of the warnings that are printed below it."""
    if not verdicts:
        return []
    steps = verdicts_by_step(verdicts)
    rows = [row for name, of in steps.items() for row in _rows(name, of)]
    promised = any(row[at] not in ("", NONE) for row in rows for at in _OF_PROMISE)
    shown = [at for at in range(len(_HEAD)) if promised or at not in _OF_PROMISE]
    wide = {at: max(len(row[at]) for row in (_HEAD, *rows)) for at in shown}
    wide[0] = min(wide[0], max(WIDTH - sum(wide.values()) + wide[0] - 2 * (len(shown) - 1), 12))
    lines = [
        TextLine("head", _line(_HEAD, wide)),
        *(TextLine("row", _line(row, wide)) for row in rows),
    ]
    lines += [TextLine("row", text) for text in _below_the_table(steps)]
    lines += [TextLine("ground", text) for text in _grounds(steps, below)]
    return lines + [TextLine("doubt", text) for text in _doubts(steps, below)]


def _line(row: Sequence[str], wide: Mapping[int, int]) -> str:
    """A row of the columns that `wide` has the widths of."""
    name = cut(row[0], wide[0])
    cells = [f"{name:<{wide[0]}}", *(f"{row[at]:>{wide[at]}}" for at in (1, 2, 3) if at in wide)]
    return "  ".join([*cells, f"{row[4]:<{wide[4]}}", row[5]]).rstrip()


def _rows(name: str, of_runs: Sequence[Verdict]) -> Iterator[tuple[str, ...]]:
    if len(of_runs) == 1 and len(of_runs[0].stretches) > 1:
        yield (name, "", "", "", "", of_runs[0].trust)
        for stretch in of_runs[0].stretches:
            yield (f"  {_when(stretch)}", *_cells([stretch]), "")
        return
    levels = _levels(of_runs)
    if len(levels) == 1:
        of_level = at_one_level(of_runs)
        kind = of_level[0].stands_for.kind
        first = f"{name} ({kind})" if kind == "burst" else name
        yield (first, *_cells([verdict.stands_for for verdict in of_level]), trust_of(of_runs))
        return
    yield (f"{name}, by run", "", "", "", "", "")
    at = 1
    for group in levels:
        last = at + len(group) - 1
        runs = f"{at}" if at == last else f"{at}–{last}"
        kind = group[0].stands_for.kind or "level"
        yield (
            f"  {kind} {runs}",
            *_cells([verdict.stands_for for verdict in group]),
            trust_of(group),
        )
        at = last + 1


def _levels(of_runs: Sequence[Verdict]) -> list[list[Verdict]]:
    """Consecutive runs at a level of the same kind; one group if the levels alternate."""
    groups = groupby(of_runs, key=lambda verdict: verdict.stands_for.kind or "level")
    runs = [list(group) for _, group in groups]
    return runs if len(runs) <= _MOST_LEVELS else [list(of_runs)]


def _cells(judged: Sequence[Judged]) -> tuple[str, str, str, str]:
    """Promise, measurement and ratio of the median run, and the most common limit."""
    shown = shown_stretch(judged)
    named = limit_of(judged)
    return (
        figure(shown.promised.iops, shown.promised.bytes_per_s) if shown.promised else NONE,
        figure(shown.iops, shown.bytes_per_s),
        f"{shown.ratio:.0%}" if shown.ratio is not None else NONE,
        short_limit(named),
    )


def _when(level: Judged) -> str:
    kind = level.kind or "level"
    return kind if level.start_s is None else f"{kind} at {clock(level.start_s)}"


def _grounds(steps: dict[str, list[Verdict]], below: Collection[tuple[str, str]]) -> Iterator[str]:
    """The evidence for each limit of the table that its ratio does not show."""
    for name, of_runs in steps.items():
        groups = _groups(of_runs)
        by_limit = {(limit := limit_of(group)): _having(group, limit) for group in groups}
        for limit, stretch in by_limit.items():
            counted = stretch.limiter.confirmed() or any(
                "counts as" in text for text in stretch.limiter.evidence
            )
            if limit in _SAID_BY_RATIO and not counted:
                continue
            reasons = [reason for verdict in of_runs for reason in verdict.reasons]
            messages = [reason.message for reason in reasons if _is_printed(name, reason, below)]
            printed = {clause for message in messages for clause in message.split("; ")}
            clauses = [text for text in stretch.limiter.evidence if text not in printed]
            of = f"{name}, {stretch.kind}" if len(groups) > 1 and stretch.kind else name
            if clauses:
                yield from _folded(f"{of}: {sentences(*clauses)}")


def _below_the_table(steps: dict[str, list[Verdict]]) -> Iterator[str]:
    """Which of two runs is shown, and for how much of the time a step kept its
    promise (of runs only where some did not)."""
    groups = [group for of_runs in steps.values() for group in _groups(of_runs)]
    if any(len(group) == _TWO for group in groups):
        yield "  of two runs the lower one is shown"
    for name, of_runs in steps.items():
        kept = shown(of_runs).kept
        if kept is not None and (kept.unit == "s" or kept.kept < kept.of):
            yield from _folded(f"{name}: {kept.words()}")


def _is_printed(step: str, reason: Reason, below: Collection[tuple[str, str]]) -> bool:
    """Whether the message of a reason is printed, here or `below`."""
    is_doubt = reason.weight != "note" or doubt_of(reason.code).shown == "verdict"
    return is_doubt or (step, reason.code) in below


def _groups(of_runs: Sequence[Verdict]) -> list[list[Judged]]:
    """The stretches behind each row of the table."""
    if len(of_runs) == 1:
        return [[stretch] for stretch in of_runs[0].stretches]
    levels = _levels(of_runs)
    groups = levels if len(levels) > 1 else [at_one_level(of_runs)]
    return [[verdict.stands_for for verdict in group] for group in groups]


def _having(judged: Sequence[Judged], limit: LimiterName) -> Judged:
    return shown_stretch([stretch for stretch in judged if stretch.limiter.name == limit])


def _doubts(steps: dict[str, list[Verdict]], below: Collection[tuple[str, str]]) -> Iterator[str]:
    """The doubts and notes on the verdicts; equal texts appear once. Doubts that are explained
    `below` are only named."""
    named: dict[str, list[str]] = {}
    explained: dict[Reason, list[str]] = {}
    for name, of_runs in steps.items():
        trust = trust_of(of_runs)
        reasons = reasons_over(of_runs)
        elsewhere = [reason for reason in reasons if (name, reason.code) in below]
        if trust != "yes" and (words := doubt_words(elsewhere, trust)):
            named.setdefault(f"{_USE[trust]}: {words}", []).append(name)
        unexplained = [
            reason for reason in reasons if reason.weight != "note" and reason not in elsewhere
        ]
        for reason in dict.fromkeys((*unexplained, *verdict_doubts(of_runs))):
            at, _ = doubted_run(of_runs, reason.code)
            is_of_all = all(_has(verdict, reason.code) for verdict in of_runs)
            run = "" if is_of_all else f", run {at + 1}"
            explained.setdefault(reason, []).append(f"{name}{run}")
    by_disk = sorted(explained, key=lambda reason: reason.code != OTHER_DISK.code)
    for words, names in named.items():
        yield from _folded(f"{_names(names)}: {words}", lead="! ")
    for reason in by_disk:
        names = explained[reason]
        text = f"{_names(names)}: {sentences(reason.message, reason.advice)}"
        yield from _folded(text, lead="  " if reason.weight == "note" else "! ")


def _has(verdict: Verdict, code: str) -> bool:
    return any(reason.code == code for reason in verdict.reasons)


def _names(names: Sequence[str]) -> str:
    more = len(names) - _MOST_STEPS
    shown = ", ".join(names[:_MOST_STEPS])
    return f"{shown} and {more} more" if more > 0 else shown


def _folded(text: str, *, lead: str = "  ") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=lead, subsequent_indent="    ", break_on_hyphens=False
    )


_ENDS = (".", "!", "?", "…")
_AS_TYPED = frozenset({"fio", "fio's", "fsync", "fdatasync", "write()", "results"})
"""Words that stay in lower case at the beginning of a sentence: names and commands."""


def sentences(*clauses: str) -> str:
    """Return the clauses as sentences, without the empty ones: `It fell. Repeat it.`"""
    return " ".join(_sentence(clause.strip()) for clause in clauses if clause.strip())


def _sentence(clause: str) -> str:
    first = clause.split()[0]
    if first not in _AS_TYPED and first.strip(",;:").replace("'", "").isalpha():
        clause = clause[0].upper() + clause[1:]
    return clause if clause.endswith(_ENDS) else f"{clause}."
