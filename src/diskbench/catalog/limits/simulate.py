"""Simulate buckets over a sequence of stages: when credit runs out, and the rate after that.

Nothing changes between two events, so the simulation steps from event to event: a bucket becomes
empty, a stage reaches its time or its bytes. At a rate of r blocks per second, the balance B of a
gate that charges c per block changes by

    dB/dt = baseline - r·c        at most refill_per_s upwards, within 0 … capacity

and r is the rate of the tightest gate: its burst while B > 0, its baseline after that. A
bucket that starts full lasts C / (burst - baseline) under full load: 1,862 s for a gp2 of 20 GiB
(EC2 User Guide, general-purpose.md, 2023-05-11). Buckets of disk and machine are separate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.catalog.limits.path import tightest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from diskbench.catalog.limits.io_requests import Case
    from diskbench.catalog.limits.path import Path
    from diskbench.model.expectation import LimitName, Load


@dataclass(frozen=True)
class Stage:
    """A load for so many seconds, or until so many bytes were moved, whichever comes first. Without
    a load the buckets refill. `credit_is_held`: the load gets what full buckets give, and the
    balances stay as they are (how the lab fills a disk)."""

    load: Load | None
    seconds: float = math.inf
    bytes: float = math.inf
    credit_is_held: bool = False


@dataclass(frozen=True)
class Leg:
    """A stretch of one stage at one rate, in blocks of its load; the last one may last for ever.
    `limited_by` is None for one without load."""

    stage: int
    start_s: float
    seconds: float
    iops: float
    bytes_per_s: float
    limited_by: LimitName | None


@dataclass(frozen=True)
class Emptied:
    """When a bucket was first empty, and in which stage."""

    gate: int
    at_s: float
    stage: int


@dataclass(frozen=True)
class Simulation:
    """What happened. `credit` is the balance of each gate when each stage begins; `left` when all
    have ended, or, of a stage without end, when nothing changes any more."""

    legs: tuple[Leg, ...]
    emptied: tuple[Emptied, ...]
    credit: tuple[tuple[float, ...], ...]
    left: tuple[float, ...]

    def of_stage(self, number: int) -> tuple[Leg, ...]:
        """Return the legs of one stage."""
        return tuple(leg for leg in self.legs if leg.stage == number)

    def first_empty(self, gate: int) -> Emptied | None:
        """Return when a gate's bucket was first empty; None: never."""
        return next((event for event in self.emptied if event.gate == gate), None)


def simulate(
    path: Path,
    stages: Iterable[Stage],
    *,
    case: Case = "assumed",
    credit: Sequence[float] | None = None,
) -> Simulation:
    """Simulate stages one after the other on a path, from full buckets or the given balances.

    Only the last stage may be endless. A load that no known limit bounds ends its stage.
    """
    balances = list(path.full() if credit is None else credit)
    legs, emptied, begun = list[Leg](), list[Emptied](), list[tuple[float, ...]]()
    at = 0.0
    for number, stage in enumerate(stages):
        begun.append(tuple(balances))
        costs = path.costs(stage.load, case) if stage.load else (0.0,) * len(path.gates)
        seconds, blocks = stage.seconds, stage.bytes / (stage.load.block_bytes if stage.load else 1)
        while seconds > 0 and blocks > 0:
            held = path.full() if stage.credit_is_held else balances
            bounds = path.bounds(stage.load, costs, held, case) if stage.load else ()
            rate = tightest(bounds) if stage.load else 0.0
            if math.isinf(rate):
                break
            drains = [0.0] * len(costs) if stage.credit_is_held else _drains(path, costs, rate)
            until = [seconds, blocks / rate if rate else math.inf]
            until += [b / d for b, d in zip(balances, drains, strict=True) if b > 0 and d > 0]
            length = min(until)
            size = stage.load.block_bytes if stage.load else 0
            limit = bounds[0].limit if bounds else None
            legs.append(Leg(number, at, length, rate, rate * size, limit))
            if math.isinf(length):
                break
            moving = () if stage.credit_is_held else zip(path.gates, costs, strict=True)
            for index, (gate, cost) in enumerate(moving):
                was = balances[index]
                # After exactly the time to empty, the balance is 0 despite rounding errors.
                done = was > 0 and drains[index] > 0 and was / drains[index] <= length
                balances[index] = 0.0 if done else gate.balance_after(was, rate * cost, length)
                if done:
                    emptied.append(Emptied(index, at + length, number))
            at += length
            seconds -= length
            blocks = 0.0 if length == until[1] else blocks - rate * length
    return Simulation(tuple(legs), tuple(emptied), tuple(begun), tuple(balances))


def _drains(path: Path, costs: Sequence[float], rate: float) -> list[float]:
    """What each bucket loses a second; nothing where it loses only what rounding makes of it."""
    drains = []
    for gate, cost in zip(path.gates, costs, strict=True):
        drain = rate * cost - gate.allowance.baseline
        drains.append(drain if drain > gate.allowance.baseline * 1e-9 else 0.0)
    return drains
