"""Comparison of two selections of trials: which figures are paired, and their ratio (MR-9).

The figures of matched subjects (compare_draft.py) are paired by the rounds of their matrix;
without a common round, in order of time, which the comparison reports as a doubt.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from itertools import chain
from operator import attrgetter

from sqlalchemy.engine import Engine

from diskbench.analysis.compare import adjusted, compare, judge, sentence
from diskbench.analysis.repeats import replicated
from diskbench.catalog.fidelity import Fidelity
from diskbench.errors import FactsDiffer, InvalidValue, NoFigure
from diskbench.model.comparison import Compared, Comparison, Difference, Metric, NotCompared, Side
from diskbench.model.ids import short
from diskbench.parallel import grouped
from diskbench.results import compare_draft
from diskbench.results.compare_draft import Draft, FigureGroup, values_of_fields
from diskbench.results.pool import apart, check_alike, off_trials
from diskbench.results.selection import selected
from diskbench.results.trial_figures import REGIME, FigureLine, LineFigure, figures_by_metric
from diskbench.store.where import Filter


def compare_metrics(
    database: Engine,
    a: str,
    b: str,
    *,
    metrics: Sequence[Metric],
    pool: Collection[str] = (),
    within: Sequence[Filter] = (),
) -> Comparison:
    """The ratio B over A of each figure that both selections have, in the order of the steps, and
    what only one of them has. A metric that a side lacks is left out where there is another. Both
    are runs that meet the conditions `within`. Trials of one side that differ in a fact are
    replicates of each other only where the fact is in `pool` (MR-14). Raises UnknownName, NoFigure
    for a selection without finished runs, and InvalidValue for trials that are in both."""
    chosen = [selected(database, text) for text in (a, b)]
    if chosen[0] == chosen[1]:
        both = " and ".join(dict.fromkeys((repr(a.strip()), repr(b.strip()))))
        raise InvalidValue(f"A and B are the same: {both}", advice="name two different sets")
    of_a, of_b = (figures_by_metric(database, [*of, *within], metrics) for of in chosen)
    every = chain.from_iterable((*of_a.values(), *of_b.values()))
    runs_of = {figure.trial_id: figure.runs for figure in every}

    @cache
    def flagged(trials: tuple[str, ...]) -> Collection[str]:
        return off_trials({trial_id: runs_of[trial_id] for trial_id in trials})

    comparisons: list[Comparison] = []
    lacking: InvalidValue | None = None
    for metric in metrics:
        try:
            sides = of_a[metric], of_b[metric]
            comparisons.append(_comparison((a, b), sides, metric, pool=pool, flagged=flagged))
        except NoFigure as error:
            lacking = lacking or error
    if not comparisons:
        raise lacking or InvalidValue("no metric is named", advice="name one, such as iops")
    compared = chain.from_iterable(comparison.compared for comparison in comparisons)
    of_step = grouped(compared, attrgetter("block", "step", "direction"))
    alone = chain.from_iterable(comparison.not_compared for comparison in comparisons)
    lines, left = tuple(chain.from_iterable(of_step.values())), tuple(dict.fromkeys(alone))
    return comparisons[0].model_copy(update={"compared": lines, "not_compared": left})


def _comparison(
    asked: tuple[str, str],
    figures_by_side: tuple[Sequence[LineFigure], Sequence[LineFigure]],
    metric: Metric,
    *,
    pool: Collection[str],
    flagged: Callable[[tuple[str, ...]], Collection[str]],
) -> Comparison:
    """The comparison of one metric. `flagged` returns which of some trials have an abnormal canary.
    Raises NoFigure, InvalidValue."""
    sides = [
        Side(
            asked=text,
            trials=tuple(dict.fromkeys(figure.trial_id for figure in figures)),
            marks=tuple(dict.fromkeys(mark for figure in figures for mark in figure.marks)),
        )
        for text, figures in zip(asked, figures_by_side, strict=True)
    ]
    _check(sides)
    of_a, of_b, fidelity, unmatched = compare_draft.aligned(*figures_by_side, metric)
    matched, alone = compare_draft.matched_subjects(of_a, of_b)
    alone += unmatched
    drafts = [
        draft for name, groups in matched.items() for draft in _lines(name, *groups, alone, pool)
    ]
    q = iter(adjusted([draft.ratio.p for draft in drafts if draft.ratio.p is not None]))
    figures = (figure for draft in drafts for figure in (*draft.a, *draft.b))
    off = flagged(tuple(dict.fromkeys(figure.trial_id for figure in figures)))
    compared = [
        _compared(draft, None if draft.ratio.p is None else next(q), metric, off, fidelity)
        for draft in drafts
    ]
    return Comparison(a=sides[0], b=sides[1], compared=tuple(compared), not_compared=tuple(alone))


def _check(sides: Sequence[Side]) -> None:
    for side in sides:
        if not side.trials:
            raise NoFigure(
                f"no finished run that matches {side.asked!r} has that figure",
                advice="'diskbench results list' lists all runs; logs without fio's JSON "
                "have levels ('diskbench results show RUN') and no figures",
            )
    common = set(sides[0].trials) & set(sides[1].trials)
    one_of_each = len(sides[0].trials) == len(sides[1].trials) == 1
    if common and not one_of_each:
        raise InvalidValue(
            f"A and B have trials in common: {len(common)}, such as {short(min(common))}",
            advice="name two sets without a common trial",
        )


def _lines(
    block: str, a: FigureGroup, b: FigureGroup, alone: list[NotCompared], pool: Collection[str]
) -> list[Draft]:
    drafts = []
    for line in dict.fromkeys((*a, *b)):
        why = ""
        if line in a and line in b:
            why = _not_alike(line, a[line], b[line], pool)
            if not why:
                pairs, unpaired, in_turn = compare_draft.paired(a[line], b[line])
                ratio = compare(pairs)
                drafts.append(Draft(block, line, a[line], b[line], ratio, unpaired, in_turn))
        elif (line.step, line.direction) not in {
            (other.step, other.direction) for other in (b if line in a else a)
        }:
            why = f"only {'A' if line in a else 'B'} has {line.step} {line.direction}"
        elif line in a:
            why = f"{line.step} {line.direction}: block size, queue depth or pattern differ"
        left = NotCompared(block=block, why=why)
        alone += [left] if why and left not in alone else []
    return drafts


def _not_alike(
    line: FigureLine, a: Sequence[LineFigure], b: Sequence[LineFigure], pool: Collection[str]
) -> str:
    """Why the trials of one side are not replicates of each other; empty where they are."""
    for name, side in (("A", a), ("B", b)):
        try:
            check_alike(side, pool=pool, whose=f"trials of {name}")
        except FactsDiffer as error:
            # Facts of a machine hold for every step; a regime and a cliff belong to one step.
            of_step = any(figure.spans_cliff for figure in side) or REGIME in dict(apart(side))
            head = f"{line.step} {line.direction}: " if of_step else ""
            return f"{head}{error.message}; {error.advice}"
    return ""


def _compared(
    draft: Draft,
    q: float | None,
    metric: Metric,
    flagged: Collection[str],
    fidelity: Mapping[FigureLine, Fidelity],
) -> Compared:
    of_tool = fidelity.get(draft.line)
    compared = Compared(
        block=draft.block,
        step=draft.line.step,
        direction=draft.line.direction,
        metric=metric,
        a=replicated(figure.sample for figure in draft.a),
        b=replicated(figure.sample for figure in draft.b),
        pairs=draft.ratio.pairs,
        n=draft.ratio.n,
        unpaired=draft.unpaired,
        in_turn=draft.in_turn,
        ratio=draft.ratio.ratio,
        interval=draft.ratio.interval,
        p=draft.ratio.p,
        q=q,
        finding=judge(draft.ratio, q),
        differences=differences(draft.a, draft.b),
        blocks=compare_draft.is_one_machine(draft.a, draft.b),
        doubts=(*([of_tool.words()] if of_tool else []), *compare_draft.doubts(draft, flagged)),
    )
    return compared.model_copy(update={"sentence": sentence(compared)})


def differences(a: Sequence[LineFigure], b: Sequence[LineFigure]) -> tuple[Difference, ...]:
    """The requested fields and observed facts whose values differ between the sides."""
    of_a, of_b = (
        values_of_fields((*figure.subject, *figure.facts) for figure in side) for side in (a, b)
    )
    return tuple(
        Difference(fact=name, a=_sorted(of_a.get(name)), b=_sorted(of_b.get(name)))
        for name in dict.fromkeys((*of_a, *of_b))
        if of_a.get(name) != of_b.get(name)
    )


def _sorted(values: set[str] | None) -> tuple[str, ...]:
    return tuple(sorted(value or "–" for value in values)) if values else ("–",)
