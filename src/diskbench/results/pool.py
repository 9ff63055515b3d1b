"""Which figures may be taken for replicates of each other (MR-14).

Records are pooled only where what was found is the same: instance type and job are the subject's,
CPU, zone, kernel, fio, disk and regime are facts. Whoever wants to pool across a fact says so.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from diskbench.errors import FactsDiffer, UnknownName
from diskbench.results.trial_figures import FACTS, REGIME

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from diskbench.results.trial_figures import Fields, TrialFigure

CHECKED = (*FACTS, REGIME)
ALL = "all"
"""What `--pool` takes beside the names of facts."""
_NOT_KNOWN = "–"


def facts_to_pool(named: Sequence[str]) -> frozenset[str]:
    """The facts across which a person wants figures pooled. Raises UnknownName."""
    for name in named:
        if name not in (*CHECKED, ALL):
            raise UnknownName("fact", name, (*CHECKED, ALL))
    return frozenset(CHECKED) if ALL in named else frozenset(named)


def check_alike(
    figures: Sequence[TrialFigure], *, pool: Collection[str] = (), whose: str = "trials"
) -> None:
    """Raise FactsDiffer where figures that are to be pooled differ in a checked fact that is not in
    `pool`, or span a cliff."""
    spanning = sum(one.spans_cliff for one in figures)
    if spanning:
        raise FactsDiffer(
            f"{spanning} of the {whose} span a cliff: their figure is of neither level",
            advice="compare IOPS or bytes a second, which are known of each level",
        )
    told = [f"{fact}: {words}" for fact, words in apart(figures) if fact not in pool]
    if told:
        names = [one.partition(":")[0] for one in told]
        raise FactsDiffer(
            f"{whose} differ in {'; '.join(told)}",
            advice=f"to pool them all the same: {' '.join(f'--pool {name}' for name in names)}",
        )


def apart(figures: Sequence[TrialFigure]) -> Iterator[tuple[str, str]]:
    """Each checked fact that differs, with its values: `6.1.0 (5), 6.5.0 (5)`. A regime that is not
    known is no other one."""
    for fact in CHECKED:
        seen = Counter(dict(one.facts).get(fact, _NOT_KNOWN) for one in figures)
        if fact == REGIME:
            del seen[_NOT_KNOWN]
        if len(seen) > 1:
            yield fact, ", ".join(f"{value} ({count})" for value, count in seen.most_common())


def alike(figures: Sequence[TrialFigure], *, pool: Collection[str] = ()) -> list[list[TrialFigure]]:
    """The figures in groups that may be pooled, the largest first; none that spans a cliff."""
    usable = [one for one in figures if not one.spans_cliff]
    names = {fact for fact, _ in apart(usable)} - set(pool)
    found: dict[Fields, list[TrialFigure]] = defaultdict(list)
    for one in usable:
        found[tuple((name, value) for name, value in one.facts if name in names)].append(one)
    return sorted(found.values(), key=len, reverse=True)
