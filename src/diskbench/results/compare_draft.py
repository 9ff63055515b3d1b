"""Pairs of figures of the two sides of a comparison, and reasons to doubt their ratio.

Subjects are matched by all requested fields except those in which the two sides differ: with gp2 on
one side and gp3 on the other, subjects with the same machine and profile are matched. A tool's own
results and runs of our profile of its name are matched by the table of docs/evidence/fidelity.md,
and its words are the doubts about their ratio."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from diskbench.analysis.compare import LEAST_DIFFERENCE, Pair, Ratio, compare
from diskbench.catalog.fidelity import Fidelity, of_tool
from diskbench.model.comparison import Metric, NotCompared
from diskbench.model.ids import short
from diskbench.model.run import IMPORT
from diskbench.parallel import grouped
from diskbench.results.pool import apart
from diskbench.results.trial_figures import Fields, FigureLine, LineFigure, words
from diskbench.units import format_bytes

APART = 0.10
"""Runs of a trial that differ by more than this share get a doubt, because the one figure of the
trial hides a change (our choice)."""
Side = Sequence[LineFigure]
_NEVER_ACROSS = ("profile", "job")
"""Fields that must be equal on both sides: figures of different work have no ratio."""
FigureGroup = dict["FigureLine", list["LineFigure"]]
"""The figures of one subject by line, in the order of their rounds."""


@dataclass(frozen=True)
class Draft:
    """One figure line of one block on both sides, before p-values are adjusted over all lines."""

    block: str
    line: FigureLine
    a: Sequence[LineFigure]
    b: Sequence[LineFigure]
    ratio: Ratio
    unpaired: int
    in_turn: bool


def paired(a: Sequence[LineFigure], b: Sequence[LineFigure]) -> tuple[list[Pair], int, bool]:
    """Pairs, number of figures without a partner, and whether the sides were measured in turn.
    Figures are paired within a block of an ABBA order or a round of a matrix; without a common one,
    in order of time.
    """
    rounds_a, rounds_b = _by_round(a), _by_round(b)
    sides = [(rounds_a[key], rounds_b[key]) for key in rounds_a if key in rounds_b]
    in_turn = bool(sides)
    if not in_turn:
        sides = [(sorted(a, key=_by_time), sorted(b, key=_by_time))]
    unit = attrgetter("block" if is_one_machine(a, b) else "machine")
    pairs = [
        Pair(figure_a.value, figure_b.value, unit(figure_a), unit(figure_b))
        for of_a, of_b in sides
        for figure_a, figure_b in zip(of_a, of_b, strict=False)
    ]
    return pairs, len(a) + len(b) - 2 * len(pairs), in_turn


def is_one_machine(a: Sequence[LineFigure], b: Sequence[LineFigure]) -> bool:
    """Whether all figures are of blocks on a single machine. Blocks are then the samples, and what
    they say covers this machine only; otherwise machines are the samples."""
    figures = [*a, *b]
    return all(of.block for of in figures) and len({of.machine for of in figures}) == 1


def _by_time(figure: LineFigure) -> tuple[bool, str]:
    """A sort key by time; figures without a date come last."""
    return figure.at is None, figure.at or ""


def _by_round(figures: Sequence[LineFigure]) -> dict[tuple[str, int], list[LineFigure]]:
    return grouped(
        sorted(figures, key=_by_time),
        lambda of: (of.block, 0) if of.block else (of.campaign_id, of.replicate),
    )


def doubts(draft: Draft, flagged: Collection[str] = ()) -> Iterator[str]:
    """Sentences that a reader must know before believing the ratio (MR-3, MR-5, MR-8, MR-14)."""
    if not draft.in_turn:
        yield "A and B were not measured alternately: the ratio includes what changed in between"
    one_machine = is_one_machine(draft.a, draft.b)
    if one_machine:
        yield "all blocks are of one machine: the interval holds for this machine, not for others"
    for name, side in (("A", draft.a), ("B", draft.b)):
        machines = len({figure.machine for figure in side})
        if machines < len(side) and not one_machine:
            yield f"{len(side)} trials of {name} are of {machines} machine{'s'[: machines != 1]}"
        far = max(figure.apart for figure in side)
        if far > APART:
            spread = f"runs of a trial of {name} differ by up to {far * 100:.0f} %"
            yield f"{spread}: each trial counts as the median of its runs"
        for fact, values in apart(side):
            yield f"trials of {name} differ in {fact}: {values}"
        if fallen := [figure for figure in side if figure.level is not None]:
            level = f"their figure is that of the {fallen[0].level}, not a mean"
            yield f"the rate dropped in {len(fallen)} of {len(side)} trials of {name}: {level}"
    if draft.ratio.n < draft.ratio.pairs and not one_machine:
        yield f"{draft.ratio.pairs} pairs count as {draft.ratio.n}: their machines were shared"
    if n := draft.unpaired:
        trials, was = (f"{n} trials have", "were") if n != 1 else ("1 trial has", "was")
        yield f"{trials} no counterpart on the other side and {was} left out"
    yield from _of_canaries(draft, flagged)


def _of_canaries(draft: Draft, flagged: Collection[str]) -> Iterator[str]:
    """The trials on machines with an abnormal canary, and the ratio without them where it differs
    (MR-13)."""
    names = [figure.trial_id for figure in (*draft.a, *draft.b) if figure.trial_id in flagged]
    if not names:
        return
    trials = ", ".join(map(short, names))
    unflagged = [
        [figure for figure in side if figure.trial_id not in flagged] for side in (draft.a, draft.b)
    ]
    yield f"the machine of {trials} differs from the others in the CPU check (canary)"
    if not all(unflagged):
        yield f"without {trials} there is nothing to compare"
        return
    ratio, unflagged_ratio = draft.ratio.ratio, compare(paired(*unflagged)[0]).ratio
    if abs(unflagged_ratio / ratio - 1) >= LEAST_DIFFERENCE:
        yield f"without {trials} the ratio would be {unflagged_ratio:.2f} instead of {ratio:.2f}"


def matched_subjects(
    a: Sequence[LineFigure], b: Sequence[LineFigure]
) -> tuple[dict[str, tuple[FigureGroup, FigureGroup]], list[NotCompared]]:
    """The groups of figures to compare, by the name of their subject; and what is left over."""
    of_a, of_b = (values_of_fields(figure.subject for figure in side) for side in (a, b))
    # Fields that have a single value on each side, where the two values differ.
    sets_apart = {
        name
        for name in {*of_a, *of_b}
        if len(values_a := of_a.get(name, {""})) == len(values_b := of_b.get(name, {""})) == 1
        and values_a != values_b
    }
    by_a, by_b = _by_subject(a, sets_apart), _by_subject(b, sets_apart)
    matched: dict[str, tuple[FigureGroup, FigureGroup]] = {}
    alone = []
    for subject in dict.fromkeys((*by_a, *by_b)):
        name = words(subject) or "all"
        figures_a, figures_b = by_a.get(subject), by_b.get(subject)
        if not figures_a or not figures_b:
            why = f"only {'A' if figures_a else 'B'} measured it"
            alone.append(NotCompared(block=name, why=why))
        elif sets_apart & {*_NEVER_ACROSS}:
            why = "profiles or job files differ, so the figures cannot be compared"
            alone.append(NotCompared(block=name, why=why))
        else:
            name = name if name not in matched else f"{name} ({len(matched) + 1})"
            matched[name] = _by_line(figures_a), _by_line(figures_b)
    return matched, alone


def values_of_fields(fields: Iterable[Fields]) -> dict[str, set[str]]:
    """All values of each field; an empty one where it is missing."""
    known = [dict(pairs) for pairs in fields]
    names = dict.fromkeys(name for mapping in known for name in mapping)
    return {name: {mapping.get(name, "") for mapping in known} for name in names}


def _by_subject(figures: Sequence[LineFigure], without: set[str]) -> dict[Fields, list[LineFigure]]:
    return grouped(
        figures, lambda figure: tuple((k, v) for k, v in figure.subject if k not in without)
    )


def _by_line(figures: Sequence[LineFigure]) -> FigureGroup:
    return grouped(sorted(figures, key=lambda figure: figure.order), lambda figure: figure.line)


def _tool_of(a: Sequence[LineFigure], b: Sequence[LineFigure]) -> str | None:
    """The tool whose results one side is, where the other side is all runs of our profile of that
    name; None for any other two sides."""
    of_a, of_b = _kind(a), _kind(b)
    for theirs, ours in ((of_a, of_b), (of_b, of_a)):
        if ours and theirs == f"{IMPORT}{ours}" and of_tool(ours):
            return ours
    return None


def _kind(figures: Sequence[LineFigure]) -> str | None:
    """The profile of all figures, or the provider of all imported ones; None for several."""
    kinds = set()
    for figure in figures:
        fields = dict(figure.subject)
        provider = fields.get("provider", "")
        kinds.add(provider if provider.startswith(IMPORT) else fields.get("profile", ""))
    return kinds.pop() if len(kinds) == 1 else None


def aligned(
    a: Side, b: Side, metric: Metric
) -> tuple[Side, Side, Mapping[FigureLine, Fidelity], Sequence[NotCompared]]:
    """Both sides with subjects and lines of the same names, the fidelity of each line, and what has
    no counterpart; the sides are unchanged where neither is a tool's own."""
    tool = _tool_of(a, b)
    if tool is None:
        return a, b, {}, ()
    theirs_first = (_kind(a) or "").startswith(IMPORT)
    theirs, ours = (a, b) if theirs_first else (b, a)
    of_theirs: list[LineFigure] = []
    of_ours: list[LineFigure] = []
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
    return *sides, known, not_compared


def _at(figures: Sequence[LineFigure], place: tuple[str, str]) -> list[LineFigure]:
    return [figure for figure in figures if (figure.line.step, figure.line.direction) == place]


def _other_blocks(theirs: Sequence[LineFigure], ours: Sequence[LineFigure]) -> str:
    """Why I/Os a second cannot be set beside each other: they are of other sizes, or of unknown."""
    sizes = [{figure.line.block_bytes for figure in side} for side in (theirs, ours)]
    if sizes[0] == sizes[1] and None not in sizes[0]:
        return ""
    theirs_words, ours_words = (
        " and ".join("unknown" if s is None else format_bytes(s) for s in sorted(side, key=str))
        for side in sizes
    )
    return f"theirs has I/Os of {theirs_words}, ours of {ours_words}; add --metric bytes_per_s"
