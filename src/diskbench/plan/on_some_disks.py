"""What steps should find that load some of a trial's disks, and others not: pure.

A step that loads k of the equal disks alike gets what k disks give, up to the machine's limits. One
that loads a disk more than another has no expectation: where it ends depends on both. Nor is there
one where a limit has burst credit, which each disk would keep by itself.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from diskbench.catalog.expect import expect_on
from diskbench.model.expectation import Expectation, PlanExpectation, StepExpectation
from diskbench.plan.limit_path import limit_path_of
from diskbench.plan.loads import asked_by
from diskbench.plan.several_disks import disks_loaded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.catalog.books import Books
    from diskbench.model.spec import Plan, Step
    from diskbench.plan.limit_path import LimitPath
    from diskbench.plan.loads import StepLoad

_CREDIT = "what steps find that do not load every disk alike: each has burst credit of its own"


def on_some_disks(
    plan: Plan, books: Books, limit_path: LimitPath, turns: Sequence[tuple[int, int | None, Step]]
) -> PlanExpectation:
    """The expectation of a plan whose steps do not all load every disk; `limit_path` is that to
    all disks together, `turns` are its steps in order with their run and round."""
    if any(gate.capacity for gate in limit_path.path.gates):
        return PlanExpectation(
            seconds=sum(step.expected_s for _, _, step in turns),
            sources=limit_path.sources,
            unknown=(*limit_path.unknown, _CREDIT),
        )
    known: dict[int, tuple[StepLoad, Expectation | None]] = {}
    expectations: list[Expectation] = []
    steps, at = [], 0.0
    for run, of_round, step in turns:
        if step.index not in known:
            known[step.index] = _of_step(plan, books, step)
        asked, expected = known[step.index]
        if expected is not None and expected not in expectations:
            expectations.append(expected)
        rate = expected.begin.iops if expected is not None else None
        seconds = asked.stage.seconds
        if math.isinf(seconds):
            moved = expected and expected.begin.bytes_per_s and asked.stage.bytes
            seconds = moved / expected.begin.bytes_per_s if moved and expected else step.expected_s
        steps.append(
            StepExpectation(
                index=step.index,
                name=step.name,
                run=run,
                round=of_round,
                start_s=at,
                seconds=seconds,
                mean_iops=rate,
                load=None if expected is None else expectations.index(expected),
            )
        )
        at += seconds
    return PlanExpectation(
        expectations=tuple(expectations),
        steps=tuple(steps),
        seconds=at,
        sources=limit_path.sources,
        unknown=limit_path.unknown,
    )


def _of_step(plan: Plan, books: Books, step: Step) -> tuple[StepLoad, Expectation | None]:
    disk = plan.facts.disk
    asked = asked_by(
        step,
        capacity_bytes=plan.target.capacity_bytes,
        read_ahead_kb=disk.read_ahead_kb if disk else None,
        disks=len(plan.target.disks),
    )
    number, load = disks_loaded(step), asked.stage.load
    limit_path = limit_path_of(plan, books, disks=number) if number else None
    expected = expect_on(limit_path.path, load) if limit_path and load and asked.is_one else None
    return asked, expected
