"""A tool's own results beside runs of our profile that carries its name.

Subjects and loads of the two have nothing in common but the figure that both claim to measure, so
they are matched by the table of docs/evidence/fidelity.md, and its words are the doubts about their
ratio.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from diskbench.catalog.fidelity import of_tool
from diskbench.model.comparison import NotCompared
from diskbench.results.trial_figures import FigureLine
from diskbench.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from diskbench.catalog.fidelity import Fidelity
    from diskbench.model.comparison import Metric
    from diskbench.results.trial_figures import TrialFigure

_IMPORT = "import/"


def _tool_of(a: Sequence[TrialFigure], b: Sequence[TrialFigure]) -> str | None:
    """The tool whose results one side is, where the other side is all runs of our profile of that
    name; None for any other two sides."""
    of_a, of_b = _kind(a), _kind(b)
    for theirs, ours in ((of_a, of_b), (of_b, of_a)):
        if theirs is not None and theirs.startswith(_IMPORT) and ours is not None:
            tool = theirs.removeprefix(_IMPORT)
            if ours == tool and of_tool(tool):
                return tool
    return None


def _kind(figures: Sequence[TrialFigure]) -> str | None:
    """The profile of all figures, or the provider of all imported ones; None for several."""
    kinds = set()
    for figure in figures:
        fields = dict(figure.subject)
        provider = fields.get("provider", "")
        kinds.add(provider if provider.startswith(_IMPORT) else fields.get("profile", ""))
    return kinds.pop() if len(kinds) == 1 else None


@dataclass(frozen=True)
class Aligned:
    """Both sides with subjects and lines of the same names, the fidelity of each line, and what has
    no counterpart."""

    a: Sequence[TrialFigure]
    b: Sequence[TrialFigure]
    fidelity: Mapping[FigureLine, Fidelity]
    not_compared: Sequence[NotCompared]


def aligned(a: Sequence[TrialFigure], b: Sequence[TrialFigure], metric: Metric) -> Aligned:
    """The two sides as they are compared: unchanged where neither is a tool's own."""
    tool = _tool_of(a, b)
    if tool is None:
        return Aligned(a, b, {}, ())
    theirs_first = (_kind(a) or "").startswith(_IMPORT)
    theirs, ours = (a, b) if theirs_first else (b, a)
    of_theirs: list[TrialFigure] = []
    of_ours: list[TrialFigure] = []
    known: dict[FigureLine, Fidelity] = {}
    not_compared: list[NotCompared] = []
    block = f"{tool} itself and our profile {tool}"
    places = set()
    for figure in of_tool(tool):
        pair = _at(theirs, figure.theirs), _at(ours, figure.ours)
        if not all(pair):
            continue
        places.add(figure.theirs)
        if metric == "iops" and (why := _other_blocks(*pair)):
            not_compared.append(NotCompared(block=block, why=f"{' '.join(figure.ours)}: {why}"))
            continue
        line = FigureLine(*figure.ours, rw=None, block_bytes=None, iodepth=None)
        known[line] = figure
        subject = (("profile", tool),)
        of_theirs += [replace(figure, line=line, subject=subject) for figure in pair[0]]
        of_ours += [replace(figure, line=line, subject=subject) for figure in pair[1]]
    for place in dict.fromkeys((figure.line.step, figure.line.direction) for figure in theirs):
        if place not in places:
            why = f"{' '.join(place)} of {tool} has no counterpart among our steps"
            not_compared.append(NotCompared(block=block, why=why))
    sides = (of_theirs, of_ours) if theirs_first else (of_ours, of_theirs)
    return Aligned(*sides, fidelity=known, not_compared=not_compared)


def _at(figures: Sequence[TrialFigure], place: tuple[str, str]) -> list[TrialFigure]:
    return [figure for figure in figures if (figure.line.step, figure.line.direction) == place]


def _other_blocks(theirs: Sequence[TrialFigure], ours: Sequence[TrialFigure]) -> str:
    """Why I/Os a second cannot be set beside each other: they are of other sizes, or of unknown."""
    sizes = [{figure.line.block_bytes for figure in side} for side in (theirs, ours)]
    if sizes[0] == sizes[1] and None not in sizes[0]:
        return ""
    words = [
        " and ".join("unknown" if s is None else format_bytes(s) for s in sorted(side, key=str))
        for side in sizes
    ]
    return f"theirs has I/Os of {words[0]}, ours of {words[1]}; add --metric bytes_per_s"
