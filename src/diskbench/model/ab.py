"""Two states of one machine, measured alternately: the labels of the runs, and their order. Pure.

A block is four runs, A B B A: in it whatever drifts evenly with time is the same on both sides.
The labels are stored with each run's evidence, so that `compare` pairs the runs by block at any
later time; a person who switches the machine by hand can give them to `diskbench run`, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SERIES, SIDE, BLOCK = "ab", "ab-side", "ab-block"
"""The labels: which comparison a run belongs to, which of the two states, and which block."""
ORDER = (0, 1, 1, 0)
"""The sides in the order in which a block measures them."""


@dataclass(frozen=True, slots=True)
class RunInTurn:
    """One run to do: in which block, from 1, and on which side."""

    block: int
    side: str


def block_of(labels: Mapping[str, str] | None) -> str:
    """Return the block that a run with these labels was measured in; empty where it was in none."""
    series, block = (labels or {}).get(SERIES), (labels or {}).get(BLOCK)
    return f"{series}/{block}" if series and block else ""


def labels_at(series: str, side: str, block: int) -> dict[str, str]:
    """Return the labels of a run of block number `block`, from 1."""
    return {SERIES: series, SIDE: side, BLOCK: str(block)}


def turns(sides: Sequence[str], blocks: int, done: Mapping[RunInTurn, int]) -> list[RunInTurn]:
    """Return the runs to do, in their order; `done` counts those that were done before."""
    remaining = dict(done)
    to_measure = []
    for block in range(1, blocks + 1):
        for at in ORDER:
            turn = RunInTurn(block, sides[at])
            if remaining.get(turn, 0):
                remaining[turn] -= 1
            else:
                to_measure.append(turn)
    return to_measure
