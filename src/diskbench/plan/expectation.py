"""The expected result of each step of a plan, and the credit left when it starts: pure.

Every step is assumed to load the disk fully, or up to its own rate limit; bucket balances carry
over from step to step and from run to run (catalog/limits/simulate.py). A loop counts with its
fewest rounds. The course is computed with the assumed request sizes, and with the least and the
most favourable ones; these give the range of times at which credit runs out.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from diskbench.catalog.limits.bucket import lasts_s
from diskbench.catalog.limits.expect import expect_on
from diskbench.catalog.limits.simulate import simulate
from diskbench.catalog.prices.disk_price import disk_price
from diskbench.model.expectation import (
    CreditRange,
    DiskPrice,
    Expectation,
    LimitName,
    PlanExpectation,
    StepExpectation,
)
from diskbench.model.spec import EMULATED_PROVIDERS
from diskbench.plan.beyond_credit import beyond_credit
from diskbench.plan.gates import check_ratios
from diskbench.plan.limit_path import LimitPath, limit_path_of
from diskbench.plan.loads import StepLoad, asked_by
from diskbench.plan.on_some_disks import on_some_disks
from diskbench.plan.several_disks import disks_loaded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from diskbench.catalog.books import Books
    from diskbench.catalog.limits.path import Path
    from diskbench.catalog.limits.simulate import Simulation
    from diskbench.model.expectation import ExpectedLevel, Load
    from diskbench.model.spec import Plan, Step

_Turn = tuple[int, int | None, "Step"]


def expectation_of(
    plan: Plan, books: Books, limit_path: LimitPath | None = None
) -> PlanExpectation | None:
    """Return what a plan should measure, on `limit_path` instead of its own path if given; None if
    the path is unknown."""
    limit_path = limit_path or limit_path_of(plan, books)
    if limit_path is None:
        return None
    turns = list(in_turn(plan))
    if not _loads_all(plan):
        partial = on_some_disks(plan, books, limit_path, turns)
        return partial.model_copy(update={"price": _price(plan, books, limit_path)})
    asked = _asked(plan, turns, limit_path)
    course = simulate(limit_path.path, [step_load.stage for step_load in asked])
    book = _Book(limit_path.path)
    steps = tuple(
        _step(turn, number, step_load, course, limit_path, book)
        for number, (turn, step_load) in enumerate(zip(turns, asked, strict=True))
    )
    return PlanExpectation(
        expectations=tuple(book.expectations),
        steps=tuple(_without_repeats(steps)),
        credits=_credits(turns, asked, course, limit_path.path),
        beyond=beyond_credit(
            plan,
            limit_path.path,
            course,
            [step for _, _, step in turns],
            [step_load.stage.load if step_load.is_one else None for step_load in asked],
        ),
        seconds=sum(step_load.seconds for step_load in steps),
        price=_price(plan, books, limit_path),
        sources=limit_path.sources,
        unknown=limit_path.unknown,
    )


def with_expectation(plan: Plan, books: Books) -> Plan:
    """The plan with what it should measure. Raises InvalidValue for a ratio to nothing."""
    expectation = expectation_of(plan, books)
    check_ratios(plan, expectation)
    return plan.model_copy(update={"expectation": expectation})


def _loads_all(plan: Plan) -> bool:
    """Whether each step does no I/O, or loads every disk of the target alike."""
    disks = len(plan.target.disks)
    return disks < 2 or all(disks_loaded(step) in {0, disks} for step in plan.steps)


def in_turn(plan: Plan) -> Iterator[_Turn]:
    """Yield the steps of all runs in order, with their run and round, both counted from 1."""
    first = plan.loop.first if plan.loop else len(plan.steps)
    rounds = plan.loop.min_rounds if plan.loop else 0
    for run in range(1, len(plan.run_ids) + 1):
        for step in plan.steps[:first]:
            yield run, None, step
        for of_round in range(1, rounds + 1):
            for step in plan.steps[first:]:
                yield run, of_round, step


def _asked(plan: Plan, turns: Sequence[_Turn], limit_path: LimitPath) -> list[StepLoad]:
    disk = plan.facts.disk
    ahead = disk.read_ahead_kb if disk else None
    capacity_bytes = plan.target.capacity_bytes
    rates: dict[str, float] = {}
    known: dict[int, StepLoad] = {}
    for _, _, step in turns:
        if step.index in known:
            continue
        step_load = asked_by(step, capacity_bytes=capacity_bytes, read_ahead_kb=ahead, rates=rates)
        if limit_path.holds_credit and step.role == "fill":
            step_load = replace(step_load, stage=replace(step_load.stage, credit_is_held=True))
        known[step.index] = step_load
        expected = (
            expect_on(limit_path.path, step_load.stage.load) if step_load.stage.load else None
        )
        if expected is not None:
            rates[step.name] = expected.begin.iops
    return [known[step.index] for _, _, step in turns]


class _Book:
    """The expectations of a plan; equal ones are stored once."""

    def __init__(self, path: Path) -> None:
        self.expectations: list[Expectation] = []
        self._path = path
        self._known: dict[tuple[Load, tuple[float, ...], bool], int | None] = {}

    def number(self, load: Load, credit: tuple[float, ...], *, is_held: bool) -> int | None:
        """Return the index of the expectation for a load that starts with these balances, or runs
        while credit is held; None if nothing is known."""
        key = (load, credit, is_held)
        if key not in self._known:
            path = self._path.with_held_credit() if is_held else self._path
            expected = expect_on(path, load, credit=path.full() if is_held else credit)
            self._known[key] = None if expected is None else len(self.expectations)
            if expected is not None:
                self.expectations.append(_brief(expected))
        return self._known[key]


def _brief(expected: Expectation) -> Expectation:
    """Return the expectation without the sources of its bounds; the plan lists them once."""

    def of(level: ExpectedLevel) -> ExpectedLevel:
        bounds = tuple(bound.model_copy(update={"source": ""}) for bound in level.bounds)
        return level.model_copy(update={"bounds": bounds})

    return expected.model_copy(
        update={"begin": of(expected.begin), "lasting": of(expected.lasting)}
    )


def _step(
    turn: _Turn,
    number: int,
    asked: StepLoad,
    course: Simulation,
    limit_path: LimitPath,
    book: _Book,
) -> StepExpectation:
    run, of_round, step = turn
    legs = course.of_stage(number)
    seconds = sum(leg.seconds for leg in legs) or step.expected_s
    load = asked.stage.load if asked.is_one else None
    credit = course.credit[number]
    shares: dict[LimitName, float] = {}
    for gate, balance in zip(limit_path.path.gates, credit, strict=True):
        if gate.capacity:
            share = balance / gate.capacity
            shares[gate.limit] = min(shares.get(gate.limit, 1.0), share)
    is_held = asked.stage.credit_is_held
    index = book.number(load, credit, is_held=is_held) if load is not None else None
    done = sum(leg.iops * leg.seconds for leg in legs)
    return StepExpectation(
        index=step.index,
        name=step.name,
        run=run,
        round=of_round,
        start_s=legs[0].start_s if legs else 0.0,
        seconds=seconds,
        mean_iops=None if index is None else done / seconds,
        credit=shares,
        load=index,
    )


def _without_repeats(steps: Sequence[StepExpectation]) -> Iterator[StepExpectation]:
    """Yield the steps without runs that equal the run before. Every run stores its plan, so this
    keeps it small."""
    before: list[object] = []
    for _, of_run in groupby(steps, key=lambda step: step.run):
        distinct = list(of_run)
        alike = [
            (step.index, step.round, step.load, round(step.mean_iops or 0, 3)) for step in distinct
        ]
        if alike != before:
            yield from distinct
        before = list(alike)


def _credits(
    turns: Sequence[_Turn], asked: Sequence[StepLoad], course: Simulation, path: Path
) -> tuple[CreditRange, ...]:
    held = [index for index, gate in enumerate(path.gates) if gate.capacity]
    if not held:
        return ()
    stages = [step_load.stage for step_load in asked]
    soonest = simulate(path, stages, case="least")
    latest = simulate(path, stages, case="best")
    ranges = []
    for index in held:
        gate, empty = path.gates[index], course.first_empty(index)
        turn = turns[empty.stage] if empty else None
        early, late = soonest.first_empty(index), latest.first_empty(index)
        ranges.append(
            CreditRange(
                bucket=gate.limit,
                gone_s=empty.at_s if empty else None,
                earliest_s=early.at_s if early else None,
                latest_s=late.at_s if late else None,
                full_load_s=lasts_s(gate.allowance) or 0.0,
                run=turn[0] if turn else None,
                step=turn[2].name if turn else None,
            )
        )
    return tuple(ranges)


def _price(plan: Plan, books: Books, limit_path: LimitPath) -> DiskPrice | None:
    rental = plan.rental
    if rental is None or rental.disk is None or rental.scope.provider in EMULATED_PROVIDERS:
        return None
    region = rental.scope.region
    if region is None:
        return None
    tier = rental.spec.text("performance_tier")
    return disk_price(books, rental.catalogue, rental.disk, region, limit_path.limits, tier=tier)
