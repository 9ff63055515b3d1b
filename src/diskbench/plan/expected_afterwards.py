"""The expectation of steps that ran without a plan, computed from what was measured: pure.

The disk's buckets start full, are charged with the measured I/O at the measured rate, and refill
between steps. Each step is then expected to reach what the credit left at its start allows, as in a
plan (plan/expectation.py), which uses promised rates instead of measured ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.catalog.expect import Stage, expect_on, simulate

if TYPE_CHECKING:
    from diskbench.catalog.path import Path
    from diskbench.model.expectation import Expectation, LimitName, Load


@dataclass(frozen=True)
class PastStep:
    """A measured step: its load (None: not a single load), blocks per second, its duration, and the
    idle time before it; seconds. `credit_is_held`: it spent no credit."""

    load: Load | None
    iops: float | None
    seconds: float
    idle_s: float = 0.0
    credit_is_held: bool = False


@dataclass(frozen=True)
class ExpectedAfterwards:
    """What a step should have reached, and the fill of each bucket when it started (1 is full)."""

    expected: Expectation
    credit: dict[LimitName, float]


def expected_afterwards(path: Path, done: Sequence[PastStep]) -> list[ExpectedAfterwards | None]:
    """Return one item per step, in order; None where its load or every limit is unknown."""
    stages: list[Stage] = []
    numbers = []
    for step in done:
        if step.idle_s > 0:
            stages.append(Stage(None, seconds=step.idle_s))
        numbers.append(len(stages))
        held = (
            step.load.model_copy(update={"max_per_s": step.iops})
            if step.load and step.iops
            else None
        )
        seconds = max(step.seconds, 0.0)
        stages.append(Stage(held, seconds=seconds, credit_is_held=step.credit_is_held))
    course = simulate(path, stages)
    known: dict[tuple[Load, tuple[float, ...]], Expectation | None] = {}
    results: list[ExpectedAfterwards | None] = []
    for step, number in zip(done, numbers, strict=True):
        credit = course.credit[number]
        if step.load is None:
            results.append(None)
            continue
        key = (step.load, credit)
        if key not in known:
            known[key] = expect_on(path, step.load, credit=credit)
        expected = known[key]
        results.append(ExpectedAfterwards(expected, _shares(path, credit)) if expected else None)
    return results


def _shares(path: Path, credit: Sequence[float]) -> dict[LimitName, float]:
    shares: dict[LimitName, float] = {}
    for gate, balance in zip(path.gates, credit, strict=True):
        if gate.capacity:
            share = balance / gate.capacity
            shares[gate.limit] = min(shares.get(gate.limit, 1.0), share)
    return shares
