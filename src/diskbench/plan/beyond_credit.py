"""How long a load must run to see what a disk gives once its burst credit is used up: pure.

    needed = 1.2 · the time until no bucket that falls has credit left, from full (MR-3)

A plan shows the lasting rate if its load goes on for a tenth of that time after the credit is used
up, and for a minute (a cliff needs a minute on either side, MR-4; a measured cliff came 6 % later
than computed). Else it ends `before` the cliff, or `at` it. A fall of less than a fifth is no cliff
(MR-4). The tenth is our choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from diskbench.catalog.expect import Simulation, Stage, expect_on, simulate
from diskbench.catalog.path import Path
from diskbench.model.expectation import BeyondCredit, CreditEnd, Expectation, Load
from diskbench.model.spec import Plan, Step
from diskbench.units import MIB

BEYOND = 1.2
"""The time for which a load must run, over the time until the credit is used up: MR-3's."""
PROFILE = "burst"
RANDOM = Load(block_bytes=4096, depth=32)
"""What the profile asks for by default."""
IN_SEQUENCE = Load(block_bytes=MIB, random=False, depth=8)
_IN_SEQUENCE_FLAGS = " --set rw=read --set bs=1m --set iodepth=8"
_FALL = 0.8
_AFTER = 0.1
_LEAST_AFTER_S = 60.0
_IN_MINUTES_S = 600.0


def falls(expected: Expectation | None) -> bool:
    """Whether a load falls by a fifth or more once the credit is used up."""
    return (
        expected is not None
        and expected.lasts_s is not None
        and expected.lasting.iops <= _FALL * expected.begin.iops
    )


def beyond_credit(
    plan: Plan, path: Path, course: Simulation, turns: Sequence[Step], loads: Sequence[Load | None]
) -> BeyondCredit | None:
    """Return what a plan shows of the rate after the credit, and what would show it; None if no
    load that it measures falls, or the disk has no bucket. `turns` are its steps in order, `loads`
    theirs, and `course` is their simulation."""
    measured = [number for number, step in enumerate(turns) if step.role in ("measure", "offered")]
    if not any((load := loads[n]) and falls(expect_on(path, load)) for n in measured):
        return None
    own = _own(plan, turns, measured, loads)
    for load, flags in own or ((RANDOM, ""), (IN_SEQUENCE, _IN_SEQUENCE_FLAGS)):
        expected = expect_on(path, load)
        if expected is None or not falls(expected):
            continue
        if not own and load is RANDOM and expected.lasting.limited_by in _BY_BYTES:
            continue
        emptied = simulate(path, [Stage(load)]).emptied
        lasts_s = max((event.at_s for event in emptied), default=0.0)
        gates = {event.gate for event in emptied}
        unit = 60 if BEYOND * lasts_s >= _IN_MINUTES_S else 1
        needed_s = math.ceil(BEYOND * lasts_s / unit) * unit
        runtime = f"{needed_s / 60:.0f}m" if needed_s >= _IN_MINUTES_S else f"{needed_s:.0f}"
        return BeyondCredit(
            lasts_s=lasts_s,
            needed_s=needed_s,
            block_bytes=load.block_bytes,
            begin_iops=expected.begin.iops,
            lasting_iops=expected.lasting.iops,
            ends=_ends(course, measured, gates, lasts_s),
            flags=f"{'' if own else f'--profile {PROFILE} '}--set runtime={runtime}{flags}",
        )
    return None


_BY_BYTES = frozenset({"disk-throughput", "vm-throughput", "vm-cached-throughput"})


def _own(
    plan: Plan, turns: Sequence[Step], measured: Sequence[int], loads: Sequence[Load | None]
) -> tuple[tuple[Load, str], ...]:
    """Return the load of a plan that measures one step for so long as its user says."""
    steps = {turns[number].index for number in measured}
    load = loads[measured[0]]
    if len(steps) != 1 or load is None or "runtime" not in plan.profile.parameters or plan.loop:
        return ()
    return ((load, ""),)


def _ends(
    course: Simulation, measured: Sequence[int], gates: set[int], lasts_s: float
) -> CreditEnd:
    gone = [event.at_s for gate in gates if (event := course.first_empty(gate)) is not None]
    if len(gone) < len(gates) or not gone:
        return "before"
    legs = [leg for number in measured for leg in course.of_stage(number)]
    end_s = max((leg.start_s + leg.seconds for leg in legs), default=0.0)
    needed = max(_AFTER * lasts_s, min(_LEAST_AFTER_S, lasts_s / 2))
    return "after" if end_s - max(gone) >= needed else "at"
