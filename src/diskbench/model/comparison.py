"""Two sets of trials side by side: what `diskbench compare` finds and prints as JSON, and how two
states of one machine are measured alternately.

A block of `diskbench ab` is four runs, A B B A: in it whatever drifts evenly with time is the same
on both sides. The labels are stored with each run's evidence, so that `compare` pairs the runs by
block at any later time; a person who switches the machine by hand can give them to `diskbench run`,
too.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from diskbench.model.base import Frozen

Finding = Literal["differs", "alike", "small", "noise", "too few"]
"""`differs`: the interval excludes 1, the ratio is off by 5 % or more, and chance is an unlikely
reason. `alike`: the interval lies within 5 % of 1. `small`: it excludes 1, and the ratio is off by
less. `noise`: what is seen may be chance. `too few`: fewer than six independent pairs, so nothing
is said of chance."""

Metric = Literal["iops", "bytes_per_s", "lat_mean_ns", "p50_ns", "p99_ns", "p99_9_ns"]
"""What is compared, as the columns of measurements name it."""
SERIES, SIDE, BLOCK = "ab", "ab-side", "ab-block"
"""The labels: which comparison a run belongs to, which of the two states, and which block."""
ORDER = (0, 1, 1, 0)
"""The sides in the order in which a block measures them."""


class Interval(Frozen):
    """An interval of a median, and how often such a one holds it: at least 0.95."""

    low: float
    high: float
    coverage: float


class Replicated(Frozen):
    """The figures of several trials of one thing, a figure a machine.

    `low` and `high` are the extremes, `variation` the standard deviation over the mean. `interval`
    is None with fewer than six machines. `more` is how many more replicates would bring the
    interval within 5 % of the median: 0 if it is, None if they are too many to measure. `outliers`
    are trials that lie far off; they count all the same.
    """

    trials: int
    machines: int
    median: float
    low: float
    high: float
    interval: Interval | None = None
    variation: float | None = None
    more: int | None = None
    outliers: tuple[str, ...] = ()


class Difference(Frozen):
    """A fact that differs between the sides."""

    fact: str
    a: tuple[str, ...]
    b: tuple[str, ...]


class Compared(Frozen):
    """One step and direction of one block on both sides: B over A.

    `n` independent pairs are made of `pairs` pairs; `unpaired` figures found no partner. `in_turn`
    says whether A and B were measured side by side, in the rounds of one matrix. `q` is `p`
    adjusted for all that this document compares in that metric. `blocks`: the independent pairs
    are blocks of runs on one machine, and the interval covers that machine only. `sentence` says it
    in words.
    """

    block: str
    step: str
    direction: str
    metric: Metric
    a: Replicated
    b: Replicated
    pairs: int
    n: int
    unpaired: int
    in_turn: bool
    ratio: float
    interval: Interval | None = None
    p: float | None = None
    q: float | None = None
    finding: Finding
    differences: tuple[Difference, ...] = ()
    doubts: tuple[str, ...] = ()
    sentence: str = ""
    blocks: bool = False

    @property
    def of_medians(self) -> float:
        """B over A of the medians of both sides, which are the figures that are shown. `ratio` is
        the median of the pairs' ratios: of other pairs it may even point the other way."""
        return self.b.median / self.a.median


class NotCompared(Frozen):
    """Something of one side or both that has no counterpart, and why."""

    block: str
    why: str


class Side(Frozen):
    """What was asked for, and what that is: trials by their ids, oldest first. `marks` are what a
    reader must know before believing a number of them: emulated, imported."""

    asked: str
    trials: tuple[str, ...]
    marks: tuple[str, ...] = ()


class Comparison(Frozen):
    """Everything that was compared, and what was not."""

    format: Literal[1] = 1
    a: Side
    b: Side
    compared: tuple[Compared, ...]
    not_compared: tuple[NotCompared, ...] = ()


def block_of(labels: Mapping[str, str] | None) -> str:
    """Return the block that a run with these labels was measured in; empty where it was in none."""
    series, block = (labels or {}).get(SERIES), (labels or {}).get(BLOCK)
    return f"{series}/{block}" if series and block else ""


def labels_at(series: str, side: str, block: int) -> dict[str, str]:
    """Return the labels of a run of block number `block`, from 1."""
    return {SERIES: series, SIDE: side, BLOCK: str(block)}


def turns(
    sides: Sequence[str], blocks: int, done: Mapping[tuple[int, str], int]
) -> list[tuple[int, str]]:
    """Return the runs to do in their order, each with its block (from 1) and its side; `done`
    counts those that were done before."""
    remaining = Counter(done)
    to_measure = []
    for block in range(1, blocks + 1):
        for turn in ((block, sides[at]) for at in ORDER):
            if remaining[turn] <= 0:
                to_measure.append(turn)
            remaining[turn] -= 1
    return to_measure
