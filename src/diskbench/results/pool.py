"""Which figures may be pooled as replicates of each other (MR-14).

Figures are pooled only where all checked facts are the same: CPU, zone, kernel, fio, disk and
regime are facts; instance type and job belong to the subject. The user may name facts across which
figures are pooled all the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from diskbench.errors import FactsDiffer, UnknownName
from diskbench.results.trial_figures import FACTS, REGIME

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from diskbench.results.subject import Fields
    from diskbench.results.trial_figures import TrialFigure

CHECKED = (*FACTS, REGIME)
ALL = "all"
"""The value of `--pool` that stands for all facts."""
_NOT_KNOWN = "–"


def facts_to_pool(named: Sequence[str]) -> frozenset[str]:
    """The facts across which the user wants figures pooled. Raises UnknownName."""
    for name in named:
        if name not in (*CHECKED, ALL):
            raise UnknownName("fact", name, (*CHECKED, ALL))
    return frozenset(CHECKED) if ALL in named else frozenset(named)


def check_alike(
    figures: Sequence[TrialFigure], *, pool: Collection[str] = (), whose: str = "trials"
) -> None:
    """Raise FactsDiffer where figures that are to be pooled differ in a checked fact that is not in
    `pool`, or span a cliff."""
    spanning = sum(figure.spans_cliff for figure in figures)
    if spanning:
        raise FactsDiffer(
            f"{spanning} of the {whose} span a cliff: their figure is of neither level",
            advice="compare IOPS or bytes a second, which are known of each level",
        )
    differing = [f"{fact}: {words}" for fact, words in apart(figures) if fact not in pool]
    if differing:
        names = [difference.partition(":")[0] for difference in differing]
        raise FactsDiffer(
            f"{whose} differ in {'; '.join(differing)}",
            advice=f"to pool them anyway: {' '.join(f'--pool {name}' for name in names)}",
        )


def apart(figures: Sequence[TrialFigure]) -> Iterator[tuple[str, str]]:
    """Each checked fact that differs, with its values: `6.1.0 (5), 6.5.0 (5)`. An unknown regime
    does not count as a different one."""
    known = [dict(figure.facts) for figure in figures]
    for fact in CHECKED:
        values = Counter(facts.get(fact, _NOT_KNOWN) for facts in known)
        if fact == REGIME:
            del values[_NOT_KNOWN]
        if len(values) > 1:
            yield fact, ", ".join(f"{value} ({count})" for value, count in values.most_common())


def alike(figures: Sequence[TrialFigure], *, pool: Collection[str] = ()) -> list[list[TrialFigure]]:
    """The figures in groups that may be pooled, the largest first; figures that span a cliff are
    left out."""
    usable = [figure for figure in figures if not figure.spans_cliff]
    names = {fact for fact, _ in apart(usable)} - set(pool)
    groups: dict[Fields, list[TrialFigure]] = defaultdict(list)
    for figure in usable:
        groups[tuple((name, value) for name, value in figure.facts if name in names)].append(figure)
    return sorted(groups.values(), key=len, reverse=True)
