"""What belongs together of two sides, before it is judged: pairs, and reasons for doubt."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.analysis.compare import Pair, Ratio, compare
from diskbench.results.pool import apart

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from diskbench.results.trial_figures import FigureLine, TrialFigure

APART = 0.10
"""Runs of a trial that differ by more are told: its one figure hides a change (our choice)."""


@dataclass(frozen=True)
class Draft:
    """One line of one block on both sides, before it is judged among all."""

    block: str
    line: FigureLine
    a: Sequence[TrialFigure]
    b: Sequence[TrialFigure]
    ratio: Ratio
    unpaired: int
    in_turn: bool


def paired(a: Sequence[TrialFigure], b: Sequence[TrialFigure]) -> tuple[list[Pair], int, bool]:
    """Figures of one round of one matrix together, or all in the order of time; how many are left
    over; and whether they were measured in turn."""
    rounds_a, rounds_b = _by_round(a), _by_round(b)
    common = [key for key in rounds_a if key in rounds_b]
    in_turn = bool(common)
    sides = (
        [(rounds_a[key], rounds_b[key]) for key in common]
        if in_turn
        else [(sorted(a, key=_by_time), sorted(b, key=_by_time))]
    )
    pairs = [
        Pair(one.value, other.value, one.machine, other.machine)
        for of_a, of_b in sides
        for one, other in zip(of_a, of_b, strict=False)
    ]
    return pairs, len(a) + len(b) - 2 * len(pairs), in_turn


def _by_time(one: TrialFigure) -> tuple[bool, str]:
    """Those without a date come last."""
    return one.at is None, one.at or ""


def _by_round(figures: Sequence[TrialFigure]) -> dict[tuple[str, int], list[TrialFigure]]:
    found: dict[tuple[str, int], list[TrialFigure]] = defaultdict(list)
    for one in figures:
        found[one.campaign_id, one.replicate].append(one)
    return found


def doubts(one: Draft, flagged: Collection[str] = ()) -> Iterator[str]:
    """What a reader must know before believing the ratio (MR-3, MR-5, MR-8, MR-14)."""
    if not one.in_turn:
        yield "A and B were not measured in turn: what changed in between is in the ratio"
    for name, side in (("A", one.a), ("B", one.b)):
        machines = len({figure.machine for figure in side})
        if machines < len(side):
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
    if one.ratio.n < one.ratio.pairs:
        yield f"{one.ratio.pairs} pairs count as {one.ratio.n}: their machines were shared"
    if one.unpaired:
        yield f"{one.unpaired} trial{'s'[: one.unpaired != 1]} found no partner and did not count"
    yield from _of_canaries(one, flagged)


def _of_canaries(one: Draft, flagged: Collection[str]) -> Iterator[str]:
    """The trials on machines that were not themselves, and the ratio without them (MR-13)."""
    names = [figure.trial_id for figure in (*one.a, *one.b) if figure.trial_id in flagged]
    if not names:
        return
    left = [[x for x in side if x.trial_id not in flagged] for side in (one.a, one.b)]
    without = "nothing is left without"
    if all(left):
        without = f"without {'it' if len(names) == 1 else 'them'} the ratio is"
        without += f" {compare(paired(*left)[0]).ratio:.2f}"
    yield f"the canary was off on {', '.join(names)}: {without}, with {one.ratio.ratio:.2f}"
