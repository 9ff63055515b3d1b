"""Which subjects of two sides are compared.

Subjects are matched by all requested fields except those in which the two sides differ: with gp2
on one side and gp3 on the other, subjects with the same machine and profile are matched.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from diskbench.model.comparison import NotCompared
from diskbench.results.subject import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from diskbench.results.subject import Fields
    from diskbench.results.trial_figures import FigureLine, TrialFigure

_NEVER_ACROSS = ("profile", "job")
"""Fields that must be equal on both sides: figures of different work have no ratio."""
FigureGroup = dict["FigureLine", list["TrialFigure"]]
"""The figures of one subject by line, in the order of their rounds."""


def matched_subjects(
    a: Sequence[TrialFigure], b: Sequence[TrialFigure]
) -> tuple[dict[str, tuple[FigureGroup, FigureGroup]], list[NotCompared]]:
    """The groups of figures to compare, by the name of their subject; and what is left over."""
    sets_apart = _fields_apart(a, b)
    of_a, of_b = _by_subject(a, sets_apart), _by_subject(b, sets_apart)
    matched: dict[str, tuple[FigureGroup, FigureGroup]] = {}
    alone = []
    for subject in dict.fromkeys((*of_a, *of_b)):
        name = words(subject) or "all"
        figures_a, figures_b = of_a.get(subject), of_b.get(subject)
        if figures_a and figures_b and not sets_apart & {*_NEVER_ACROSS}:
            name = name if name not in matched else f"{name} ({len(matched) + 1})"
            matched[name] = _by_line(figures_a), _by_line(figures_b)
        elif figures_a and figures_b:
            why = "profiles or their jobs differ: figures of other work have no ratio"
            alone.append(NotCompared(block=name, why=why))
        else:
            alone.append(
                NotCompared(block=name, why=f"only {'A' if figures_a else 'B'} measured it")
            )
    return matched, alone


def _fields_apart(a: Sequence[TrialFigure], b: Sequence[TrialFigure]) -> set[str]:
    """The fields that have a single value on each side, where the two values differ."""
    values = [values_of_fields(figure.subject for figure in side) for side in (a, b)]
    names = {*values[0], *values[1]}
    values_by_name = [
        (name, values[0].get(name, {""}), values[1].get(name, {""})) for name in names
    ]
    return {
        name
        for name, values_a, values_b in values_by_name
        if len(values_a) == len(values_b) == 1 and values_a != values_b
    }


def values_of_fields(fields: Iterable[Fields]) -> dict[str, set[str]]:
    """All values of each field; an empty one where it is missing."""
    known = [dict(pairs) for pairs in fields]
    names = dict.fromkeys(name for mapping in known for name in mapping)
    return {name: {mapping.get(name, "") for mapping in known} for name in names}


def _by_subject(
    figures: Sequence[TrialFigure], without: set[str]
) -> dict[Fields, list[TrialFigure]]:
    groups: dict[Fields, list[TrialFigure]] = defaultdict(list)
    for figure in figures:
        groups[tuple((k, v) for k, v in figure.subject if k not in without)].append(figure)
    return groups


def _by_line(figures: Sequence[TrialFigure]) -> FigureGroup:
    lines: FigureGroup = defaultdict(list)
    for figure in sorted(figures, key=lambda figure: figure.order):
        lines[figure.line].append(figure)
    return lines
