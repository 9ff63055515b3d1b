"""Two selections of trials side by side: which figures belong together, and what they say (MR-9).

Subjects are matched by all that was asked for but for what sets the two sides apart: with gp2 on
one side and gp3 on the other, each machine and profile with its like. Of two matched subjects the
figures are paired by the rounds of their matrix; without one in common in the order of time, which
is told.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from diskbench.analysis.compare import adjusted, compare, judge
from diskbench.analysis.compare_sentence import sentence
from diskbench.errors import FactsDiffer, InvalidValue
from diskbench.model.comparison import (
    Compared,
    Comparison,
    Difference,
    NotCompared,
    Side,
)
from diskbench.results.canaries import off_trials
from diskbench.results.compare_draft import Draft, doubts, paired
from diskbench.results.pool import apart, check_alike
from diskbench.results.replicated import replicated, told
from diskbench.results.selection import selected
from diskbench.results.trial_figures import REGIME, trial_figures, words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.comparison import Metric
    from diskbench.ports import EvidenceStore
    from diskbench.results.trial_figures import Fields, FigureLine, TrialFigure

_NEVER_ACROSS = ("profile", "job")
"""Other jobs do other work; their figures have no ratio."""

_Group = dict["FigureLine", list["TrialFigure"]]


def compare_selections(
    database: Engine,
    a: str,
    b: str,
    *,
    metric: Metric = "iops",
    pool: Collection[str] = (),
    evidence: EvidenceStore | None = None,
) -> Comparison:
    """All that both selections measured, B over A, and what only one of them did.

    Trials of one side that differ in a fact are replicates of each other only where it is in
    `pool` (MR-14). Phases and canaries are read from `evidence`, or from where each run's files
    are. Raises UnknownName, InvalidValue: for a selection without finished runs, and for
    trials that are in both.
    """
    if a.strip() == b.strip():
        raise InvalidValue(f"A and B are both {a!r}", advice="name two different sets")
    found = [trial_figures(database, selected(database, text), metric, evidence) for text in (a, b)]
    sides = tuple(_side(text, figures) for text, figures in zip((a, b), found, strict=True))
    _check(sides, found)
    matched, alone = _matched(*found)
    drafts = [
        one
        for name, (of_a, of_b) in matched.items()
        for one in _lines(name, of_a, of_b, alone, pool)
    ]
    p = [one.ratio.p for one in drafts if one.ratio.p is not None]
    q = iter(adjusted(p))
    compared_trials = [one.trial_id for draft in drafts for one in (*draft.a, *draft.b)]
    flagged = off_trials(database, compared_trials, evidence)
    compared = [
        _compared(one, None if one.ratio.p is None else next(q), metric, flagged) for one in drafts
    ]
    return Comparison(a=sides[0], b=sides[1], compared=tuple(compared), not_compared=tuple(alone))


def _side(asked: str, figures: Sequence[TrialFigure]) -> Side:
    marks = dict.fromkeys(mark for one in figures for mark in one.marks)
    return Side(
        asked=asked,
        trials=tuple(dict.fromkeys(one.trial_id for one in figures)),
        marks=tuple(marks),
    )


def _check(sides: Sequence[Side], found: Sequence[Sequence[TrialFigure]]) -> None:
    for side, figures in zip(sides, found, strict=True):
        if not figures:
            raise InvalidValue(
                f"{side.asked!r} has no finished run with that figure",
                advice="'diskbench results list' shows what there is; logs without fio's JSON "
                "have levels ('diskbench results show RUN') and no figures",
            )
    both = set(sides[0].trials) & set(sides[1].trials)
    one_of_each = len(sides[0].trials) == len(sides[1].trials) == 1
    if both and not one_of_each:
        raise InvalidValue(
            f"{len(both)} trials are in both, such as {min(both)}",
            advice="name two sets that have none in common",
        )


def _matched(
    a: Sequence[TrialFigure], b: Sequence[TrialFigure]
) -> tuple[dict[str, tuple[_Group, _Group]], list[NotCompared]]:
    """The groups of both sides that are compared, by their common words; and what is left over."""
    sets_apart = _fields_apart(a, b)
    of_a, of_b = _by_subject(a, sets_apart), _by_subject(b, sets_apart)
    matched: dict[str, tuple[_Group, _Group]] = {}
    alone = []
    for subject in dict.fromkeys((*of_a, *of_b)):
        name = words(subject) or "all"
        here, there = of_a.get(subject), of_b.get(subject)
        if here and there and not sets_apart & {*_NEVER_ACROSS}:
            name = name if name not in matched else f"{name} ({len(matched) + 1})"
            matched[name] = _by_line(here), _by_line(there)
        elif here and there:
            why = "profiles or their jobs differ: figures of other work have no ratio"
            alone.append(NotCompared(block=name, why=why))
        else:
            alone.append(NotCompared(block=name, why=f"only {'A' if here else 'B'} measured it"))
    return matched, alone


def _fields_apart(a: Sequence[TrialFigure], b: Sequence[TrialFigure]) -> set[str]:
    """The fields with one value on each side, and another one on the other."""
    values = [_values(one.subject for one in side) for side in (a, b)]
    names = {*values[0], *values[1]}
    found = [(name, values[0].get(name, {""}), values[1].get(name, {""})) for name in names]
    return {name for name, here, there in found if len(here) == len(there) == 1 and here != there}


def _values(fields: Iterable[Fields]) -> dict[str, set[str]]:
    known = [dict(one) for one in fields]
    names = {name for one in known for name in one}
    return {name: {one.get(name, "") for one in known} for name in names}


def _by_subject(
    figures: Sequence[TrialFigure], without: set[str]
) -> dict[Fields, list[TrialFigure]]:
    found: dict[Fields, list[TrialFigure]] = defaultdict(list)
    for one in figures:
        found[tuple((k, v) for k, v in one.subject if k not in without)].append(one)
    return found


def _by_line(figures: Sequence[TrialFigure]) -> _Group:
    found: _Group = defaultdict(list)
    for one in sorted(figures, key=lambda one: one.order):
        found[one.line].append(one)
    return found


def _lines(
    block: str, a: _Group, b: _Group, alone: list[NotCompared], pool: Collection[str]
) -> list[Draft]:
    found = []
    for line in dict.fromkeys((*a, *b)):
        if line in a and line in b:
            if why := _not_alike(line, a[line], b[line], pool):
                refused = NotCompared(block=block, why=why)
                alone += [refused] if refused not in alone else []
                continue
            pairs, unpaired, in_turn = paired(a[line], b[line])
            ratio = compare(pairs)
            found.append(Draft(block, line, a[line], b[line], ratio, unpaired, in_turn))
        elif not any(_is_same_step(line, one) for one in (b if line in a else a)):
            why = f"only {'A' if line in a else 'B'} has {line.step} {line.direction}"
            alone.append(NotCompared(block=block, why=why))
        elif line in a:
            why = f"{line.step} {line.direction}: block size, queue depth or pattern differ"
            alone.append(NotCompared(block=block, why=why))
    return found


def _not_alike(
    line: FigureLine, a: Sequence[TrialFigure], b: Sequence[TrialFigure], pool: Collection[str]
) -> str:
    """Why the trials of one side are no replicates of each other; empty where they are."""
    for name, side in (("A", a), ("B", b)):
        try:
            check_alike(side, pool=pool, whose=f"trials of {name}")
        except FactsDiffer as error:
            # What was found on a machine is so in every step, a regime and a cliff are of one.
            of_step = any(one.spans_cliff for one in side) or REGIME in dict(apart(side))
            head = f"{line.step} {line.direction}: " if of_step else ""
            return f"{head}{error.message}; {error.advice}"
    return ""


def _is_same_step(one: FigureLine, other: FigureLine) -> bool:
    return (one.step, one.direction) == (other.step, other.direction)


def _compared(one: Draft, q: float | None, metric: Metric, flagged: Collection[str]) -> Compared:
    found = Compared(
        block=one.block,
        step=one.line.step,
        direction=one.line.direction,
        metric=metric,
        a=replicated(figure.sample for figure in one.a),
        b=replicated(figure.sample for figure in one.b),
        pairs=one.ratio.pairs,
        n=one.ratio.n,
        unpaired=one.unpaired,
        in_turn=one.in_turn,
        ratio=one.ratio.ratio,
        interval=told(one.ratio.interval),
        p=one.ratio.p,
        q=q,
        finding=judge(one.ratio, q),
        differences=differences(one.a, one.b),
        doubts=tuple(doubts(one, flagged)),
    )
    return found.model_copy(update={"sentence": sentence(found)})


def differences(a: Sequence[TrialFigure], b: Sequence[TrialFigure]) -> tuple[Difference, ...]:
    """What was asked for and what was found that is not the same on both sides."""
    of_a, of_b = (_values((*one.subject, *one.facts) for one in side) for side in (a, b))
    return tuple(
        Difference(fact=name, a=_sorted(of_a.get(name)), b=_sorted(of_b.get(name)))
        for name in dict.fromkeys((*of_a, *of_b))
        if of_a.get(name) != of_b.get(name)
    )


def _sorted(values: set[str] | None) -> tuple[str, ...]:
    return tuple(sorted(value or "–" for value in values)) if values else ("–",)
