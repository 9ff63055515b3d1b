"""Verdicts as text of 80 columns: a line per stretch with promise, measurement and limit. Doubts
that the warnings below explain are only named. Each figure is of one run: of several runs the
median one at each level (analysis/shown.py).
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

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
from diskbench.model.verdict import Judged, Trust, Verdict
from diskbench.report.assemble.phases import clock
from diskbench.report.assemble.summary import shares_of_time, short_limit
from diskbench.report.assemble.words import NONE, figure
from diskbench.report.terminal.layout import aligned, wrapped

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


def verdict_lines(
    verdicts: Sequence[Verdict], below: Collection[tuple[str, str]] = ()
) -> list[tuple[str, str]]:
    """The table of verdicts on the runs of one trial, in order, then the evidence of each: kinds
    of lines (`head`, `row`, `doubt`, `ground`) with their texts. Empty without verdicts. `below`
    are the steps and codes of the warnings that are printed below it."""
    if not verdicts:
        return []
    steps = verdicts_by_step(verdicts)
    of_rows = [row for step, of in steps.items() for row in _rows(step, of)]
    rows = [(name, *_cells(stretches), trust) for name, stretches, trust in of_rows]
    promised = any(row[at] not in ("", NONE) for row in rows for at in _OF_PROMISE)
    shown = [at for at in range(len(_HEAD)) if promised or at not in _OF_PROMISE]
    figures = [place for place, at in enumerate(shown) if _HEAD[at] in _FIGURES]
    table = [[row[at] for at in shown] for row in (_HEAD, *rows)]
    head, *rest = aligned(table, right=figures, least={0: _LEAST_NAME}, width=WIDTH)
    if any(len(stretches) == _TWO for _, stretches, _ in of_rows):
        rest.append("  of two runs the lower one is shown")
    for share in shares_of_time(verdicts):
        rest += _folded(share)
    kinds = (("head", [head]), ("row", rest), ("ground", _grounds(steps, below)),
             ("doubt", _doubts(steps, below)))  # fmt: skip
    return [(kind, text) for kind, texts in kinds for text in texts]


Row = tuple[str, Sequence[Judged], str]
"""The name of a row, the stretches that its cells are of (none: it is a heading), its trust."""


def _rows(name: str, of_runs: Sequence[Verdict]) -> list[Row]:
    """A row for each stretch of the only run, or for each level over the runs: consecutive runs at
    a level of the same kind, all of them if the levels alternate."""
    if len(of_runs) == 1 and len(of_runs[0].stretches) > 1:
        rows: list[Row] = [(name, (), of_runs[0].trust)]
        for level in of_runs[0].stretches:
            when = "" if level.start_s is None else f" at {clock(level.start_s)}"
            rows.append((f"  {level.kind or 'level'}{when}", [level], ""))
        return rows
    groups = groupby(of_runs, key=lambda verdict: verdict.stands_for.kind or "level")
    levels = [(kind, list(group)) for kind, group in groups]
    if len(levels) == 1 or len(levels) > _MOST_LEVELS:
        stands_for = [verdict.stands_for for verdict in at_one_level(of_runs)]
        first = f"{name} (burst)" if stands_for[0].kind == "burst" else name
        return [(first, stands_for, trust_of(of_runs))]
    rows = [(f"{name}, by run", (), "")]
    at = 1
    for kind, group in levels:
        last = at + len(group) - 1
        runs = f"{at}" if at == last else f"{at}–{last}"
        stands_for = [verdict.stands_for for verdict in group]
        rows.append((f"  {kind} {runs}", stands_for, trust_of(group)))
        at = last + 1
    return rows


def _cells(judged: Sequence[Judged]) -> tuple[str, str, str, str]:
    """Promise, measurement and ratio of the median run, and the most common limit; empty cells for
    a heading."""
    if not judged:
        return ("",) * 4
    shown = shown_stretch(judged)
    promised = figure(shown.promised.iops, shown.promised.bytes_per_s) if shown.promised else NONE
    ratio = f"{shown.ratio:.0%}" if shown.ratio is not None else NONE
    return promised, figure(shown.iops, shown.bytes_per_s), ratio, short_limit(limit_of(judged))


def _grounds(steps: dict[str, list[Verdict]], below: Collection[tuple[str, str]]) -> Iterator[str]:
    """The evidence for each limit of the table that its ratio does not show."""
    for name, of_runs in steps.items():
        groups = [stretches for _, stretches, _ in _rows("", of_runs) if stretches]
        by_limit = {limit_of(group): group for group in groups}
        printed = {
            clause
            for verdict in of_runs
            for reason in verdict.reasons
            if reason.weight != "note"
            or doubt_of(reason.code).shown == "verdict"
            or (name, reason.code) in below
            for clause in reason.message.split("; ")
        }
        for limit, group in by_limit.items():
            stretch = shown_stretch([one for one in group if one.limiter.name == limit])
            evidence = stretch.limiter.evidence
            counted = stretch.limiter.confirmed() or any("counts as" in text for text in evidence)
            clauses = [text for text in evidence if text not in printed]
            of = f"{name}, {stretch.kind}" if len(groups) > 1 and stretch.kind else name
            if clauses and (counted or limit not in _SAID_BY_RATIO):
                yield from _folded(f"{of}: {sentences(*clauses)}")


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
        here = [one for one in reasons if one.weight != "note" and one not in elsewhere]
        codes = [{reason.code for reason in verdict.reasons} for verdict in of_runs]
        for reason in dict.fromkeys((*here, *verdict_doubts(of_runs))):
            at, _ = doubted_run(of_runs, reason.code)
            run = "" if all(reason.code in of for of in codes) else f", run {at + 1}"
            explained.setdefault(reason, []).append(f"{name}{run}")
    for words, names in named.items():
        yield from _folded(f"{_names(names)}: {words}", lead="! ")
    for reason in sorted(explained, key=lambda reason: reason.code != OTHER_DISK.code):
        text = f"{_names(explained[reason])}: {sentences(reason.message, reason.advice)}"
        yield from _folded(text, lead="  " if reason.weight == "note" else "! ")


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
    told = []
    for clause in filter(None, map(str.strip, clauses)):
        first = clause.split()[0]
        is_word = first not in _AS_TYPED and first.strip(",;:").replace("'", "").isalpha()
        text = clause[0].upper() + clause[1:] if is_word else clause
        told.append(text if text.endswith(_ENDS) else f"{text}.")
    return " ".join(told)
