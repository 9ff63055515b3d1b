"""Pairs of figures of the two sides of a comparison, and reasons to doubt their ratio."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.analysis.compare import LEAST_DIFFERENCE, Pair, Ratio, compare
from diskbench.model.ids import short
from diskbench.results.pool import apart

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from diskbench.results.trial_figures import FigureLine, TrialFigure

APART = 0.10
"""Runs of a trial that differ by more than this share get a doubt, because the one figure of the
trial hides a change (our choice)."""


@dataclass(frozen=True)
class Draft:
    """One figure line of one block on both sides, before p-values are adjusted over all lines."""

    block: str
    line: FigureLine
    a: Sequence[TrialFigure]
    b: Sequence[TrialFigure]
    ratio: Ratio
    unpaired: int
    in_turn: bool


def paired(a: Sequence[TrialFigure], b: Sequence[TrialFigure]) -> tuple[list[Pair], int, bool]:
    """Pairs, number of figures without a partner, and whether the sides were measured in turn.
    Figures are paired within a block of an ABBA order or a round of a matrix; without a common one,
    in order of time.
    """
    rounds_a, rounds_b = _by_round(a), _by_round(b)
    common = [key for key in rounds_a if key in rounds_b]
    in_turn = bool(common)
    sides = (
        [(rounds_a[key], rounds_b[key]) for key in common]
        if in_turn
        else [(sorted(a, key=_by_time), sorted(b, key=_by_time))]
    )
    unit = _block if is_one_machine(a, b) else _machine
    pairs = [
        Pair(figure_a.value, figure_b.value, unit(figure_a), unit(figure_b))
        for of_a, of_b in sides
        for figure_a, figure_b in zip(of_a, of_b, strict=False)
    ]
    return pairs, len(a) + len(b) - 2 * len(pairs), in_turn


def is_one_machine(a: Sequence[TrialFigure], b: Sequence[TrialFigure]) -> bool:
    """Whether all figures are of blocks on a single machine. Blocks are then the samples, and what
    they say covers this machine only; otherwise machines are the samples."""
    figures = [*a, *b]
    return (
        all(figure.block for figure in figures) and len({figure.machine for figure in figures}) == 1
    )


def _block(figure: TrialFigure) -> str:
    return figure.block


def _machine(figure: TrialFigure) -> str:
    return figure.machine


def _by_time(figure: TrialFigure) -> tuple[bool, str]:
    """A sort key by time; figures without a date come last."""
    return figure.at is None, figure.at or ""


def _by_round(figures: Sequence[TrialFigure]) -> dict[tuple[str, int], list[TrialFigure]]:
    rounds: dict[tuple[str, int], list[TrialFigure]] = defaultdict(list)
    for figure in sorted(figures, key=_by_time):
        in_matrix = figure.campaign_id, figure.replicate
        rounds[(figure.block, 0) if figure.block else in_matrix].append(figure)
    return rounds


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
            yield (
                f"runs of a trial of {name} differ by up to {far * 100:.0f} %: each trial counts "
                "as the median of its runs"
            )
        for fact, values in apart(side):
            yield f"trials of {name} differ in {fact}: {values}"
        if fallen := [figure for figure in side if figure.level is not None]:
            yield (
                f"of {len(fallen)} of {len(side)} trials of {name} the level after the cliff "
                f"counts ({fallen[0].level}), no mean over both"
            )
    if draft.ratio.n < draft.ratio.pairs and not one_machine:
        yield f"{draft.ratio.pairs} pairs count as {draft.ratio.n}: their machines were shared"
    if n := draft.unpaired:
        yield f"{n} trial{'s'[: n != 1]} found no partner and did not count"
    yield from _of_canaries(draft, flagged)


def _of_canaries(draft: Draft, flagged: Collection[str]) -> Iterator[str]:
    """The trials on machines with an abnormal canary, and the ratio without them where it differs
    (MR-13)."""
    names = [figure.trial_id for figure in (*draft.a, *draft.b) if figure.trial_id in flagged]
    if not names:
        return
    unflagged = [
        [figure for figure in side if figure.trial_id not in flagged] for side in (draft.a, draft.b)
    ]
    yield f"the canary differs on the machine of {', '.join(map(short, names))}"
    them = "it" if len(names) == 1 else "them"
    if not all(unflagged):
        yield f"nothing to compare is left without {them}"
        return
    ratio, unflagged_ratio = draft.ratio.ratio, compare(paired(*unflagged)[0]).ratio
    if abs(unflagged_ratio / ratio - 1) >= LEAST_DIFFERENCE:
        yield f"without {them} the ratio is {unflagged_ratio:.2f}, not {ratio:.2f}"
