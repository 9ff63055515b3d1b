"""Verdicts as text of 80 columns: a line per stretch with promise, measurement and limit.

Doubts that come from a step's warnings are explained below the table of results; here they are
only named. Each figure is of one run: of several runs the median one at each level
(analysis/shown.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from diskbench.analysis.shown import (
    at_one_level,
    doubted_run,
    limit_of,
    reasons_over,
    shown_stretch,
    trust_of,
    verdict_doubts,
    verdicts_by_step,
)
from diskbench.model.doubts import OTHER_DISK, Reason, doubt_of, doubt_words
from diskbench.model.expectation import LIMIT_WORDS
from diskbench.model.verdict import Judged, LimiterName, Trust, Verdict
from diskbench.report.assemble.phases import clock
from diskbench.report.assemble.summary import shares_of_time
from diskbench.report.assemble.words import NONE, figure, short_limit
from diskbench.report.terminal.screen import aligned, wrapped

WIDTH = 80
_HEAD = ("", "promised", "measured", "ratio", "limited by", "trust")
_FIGURES = _HEAD[1:4]
_LEAST_NAME = 12
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
    rows = [
        (name, *(_cells(stretches) if stretches else ("",) * 4), trust)
        for step, of in steps.items()
        for name, stretches, trust in _rows(step, of)
    ]
    promised = any(row[at] not in ("", NONE) for row in rows for at in _OF_PROMISE)
    shown = [at for at in range(len(_HEAD)) if promised or at not in _OF_PROMISE]
    figures = [place for place, at in enumerate(shown) if _HEAD[at] in _FIGURES]
    table = [[row[at] for at in shown] for row in (_HEAD, *rows)]
    head, *rest = aligned(table, right=figures, least={0: _LEAST_NAME}, width=WIDTH)
    lines = [TextLine("head", head), *(TextLine("row", text) for text in rest)]
    lines += [TextLine("row", text) for text in _below_the_table(steps)]
    lines += [TextLine("ground", text) for text in _grounds(steps, below)]
    return lines + [TextLine("doubt", text) for text in _doubts(steps, below)]


Row = tuple[str, Sequence[Judged], str]
"""The name of a row, the stretches that its cells are of (none: it is a heading), its trust."""


def _rows(name: str, of_runs: Sequence[Verdict]) -> list[Row]:
    """A row for each stretch of the only run, or for each level over the runs."""
    if len(of_runs) == 1 and len(of_runs[0].stretches) > 1:
        stretches = of_runs[0].stretches
        of_stretches = [(f"  {_when(stretch)}", [stretch], "") for stretch in stretches]
        return [(name, (), of_runs[0].trust), *of_stretches]
    levels = _levels(of_runs)
    if len(levels) == 1:
        of_level = at_one_level(of_runs)
        kind = of_level[0].stands_for.kind
        first = f"{name} ({kind})" if kind == "burst" else name
        return [(first, [verdict.stands_for for verdict in of_level], trust_of(of_runs))]
    rows: list[Row] = [(f"{name}, by run", (), "")]
    at = 1
    for group in levels:
        last = at + len(group) - 1
        runs = f"{at}" if at == last else f"{at}–{last}"
        kind = group[0].stands_for.kind or "level"
        stands_for = [verdict.stands_for for verdict in group]
        rows.append((f"  {kind} {runs}", stands_for, trust_of(group)))
        at = last + 1
    return rows


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
    """Which of two runs is shown, and for how much of the time a step kept its promise."""
    groups = [group for of_runs in steps.values() for group in _groups(of_runs)]
    if any(len(group) == _TWO for group in groups):
        yield "  of two runs the lower one is shown"
    for share in shares_of_time([verdict for of_runs in steps.values() for verdict in of_runs]):
        yield from _folded(share)


def _is_printed(step: str, reason: Reason, below: Collection[tuple[str, str]]) -> bool:
    """Whether the message of a reason is printed, here or `below`."""
    is_doubt = reason.weight != "note" or doubt_of(reason.code).shown == "verdict"
    return is_doubt or (step, reason.code) in below


def _groups(of_runs: Sequence[Verdict]) -> list[Sequence[Judged]]:
    """The stretches behind each row of the table."""
    return [stretches for _, stretches, _ in _rows("", of_runs) if stretches]


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
    return wrapped(lead, text, WIDTH, indent=4)


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
