"""What steps that nobody planned should have got, from what they did: pure.

The buckets of the disk start full and are charged with what was done, at the rate at which it was
done; between steps they refill. So each step is promised what the credit left at its beginning
gives, as in a plan (plan/expectation.py), which takes the promised rates instead of measured ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.catalog.expect import expect_on
from diskbench.catalog.simulate import Stage, simulate

if TYPE_CHECKING:
    from diskbench.catalog.path import Path
    from diskbench.model.expectation import Expectation, LimitName, Load


@dataclass(frozen=True)
class PastStep:
    """A step as it went: its load (None: not one load), blocks a second, for how long, and how long
    nothing was done before it."""

    load: Load | None
    iops: float | None
    seconds: float
    idle_s: float = 0.0


@dataclass(frozen=True)
class Recalled:
    """What a step should have got, and what was left of each bucket when it began (1 is full)."""

    expected: Expectation
    credit: dict[LimitName, float]


def recalled(path: Path, done: Sequence[PastStep]) -> list[Recalled | None]:
    """One for each step, in order; None where its load, or every limit, is unknown."""
    stages: list[Stage] = []
    numbers = []
    for one in done:
        if one.idle_s > 0:
            stages.append(Stage(None, seconds=one.idle_s))
        numbers.append(len(stages))
        held = (
            one.load.model_copy(update={"max_per_s": one.iops}) if one.load and one.iops else None
        )
        stages.append(Stage(held, seconds=max(one.seconds, 0.0)))
    course = simulate(path, stages)
    known: dict[tuple[Load, tuple[float, ...]], Expectation | None] = {}
    found: list[Recalled | None] = []
    for one, number in zip(done, numbers, strict=True):
        credit = course.credit[number]
        if one.load is None:
            found.append(None)
            continue
        key = (one.load, credit)
        if key not in known:
            known[key] = expect_on(path, one.load, credit=credit)
        expected = known[key]
        found.append(Recalled(expected, _shares(path, credit)) if expected else None)
    return found


def _shares(path: Path, credit: Sequence[float]) -> dict[LimitName, float]:
    shares: dict[LimitName, float] = {}
    for gate, balance in zip(path.gates, credit, strict=True):
        if gate.capacity:
            share = balance / gate.capacity
            shares[gate.limit] = min(shares.get(gate.limit, 1.0), share)
    return shares
