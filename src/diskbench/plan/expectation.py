"""The expected result of each step, and the credit left when it starts: of a plan, from promised
rates, and of steps that ran without one, from measured rates. Pure.

Every step of a plan is assumed to load the disk fully, or up to its own rate limit; bucket balances
carry over from step to step and from run to run (catalog/expect.py). A loop counts with its fewest
rounds. The course is computed with the assumed request sizes, and with the least and the most
favourable ones; these give the range of times at which credit runs out.

A step that loads k of a trial's equal disks alike gets what k disks give, up to the machine's
limits. One that loads a disk more than another has no expectation: where it ends depends on both.
Nor is there one where a limit has burst credit, which each disk would keep by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from diskbench.catalog.books import Books
from diskbench.catalog.bucket import Allowance, lasts_s
from diskbench.catalog.cost import disk_price
from diskbench.catalog.expect import Simulation, Stage, expect_on, simulate
from diskbench.catalog.path import Gate, Path
from diskbench.model.expectation import (
    CreditRange,
    DiskPrice,
    Expectation,
    ExpectedLevel,
    LimitName,
    Load,
    PlanExpectation,
    StepExpectation,
)
from diskbench.model.spec import EMULATED_PROVIDERS, Plan, Step
from diskbench.plan.beyond_credit import beyond_credit
from diskbench.plan.gates import check_ratios
from diskbench.plan.limit_path import LimitPath, limit_path_of
from diskbench.plan.loads import StepLoad, asked_by, disks_loaded

_Turn = tuple[int, int | None, Step]


def expectation_of(
    plan: Plan, books: Books, limit_path: LimitPath | None = None
) -> PlanExpectation | None:
    """Return what a plan should measure, on `limit_path` instead of its own path if given; None if
    the path is unknown."""
    limit_path = limit_path or limit_path_of(plan, books)
    if limit_path is None:
        return None
    path, book, disks = limit_path.path, _Book(), len(plan.target.disks)
    turns = list(in_turn(plan))
    asked = _asked(plan, turns, limit_path)
    used = [disks_loaded(step) if disks > 1 else disks for _, _, step in turns]
    found = PlanExpectation(
        seconds=sum(step.expected_s for _, _, step in turns),
        price=_price(plan, books, limit_path),
        sources=limit_path.sources,
        unknown=limit_path.unknown,
    )
    if all(count in {0, disks} for count in used):
        course = simulate(path, [step_load.stage for step_load in asked])
        steps = [
            _step(turn, number, step_load, course, path, book)
            for number, (turn, step_load) in enumerate(zip(turns, asked, strict=True))
        ]
        if (rate := plan.rental.loads_bytes_per_s if plan.rental else None) is not None:
            steps[:1] = [_loading(turns[0], asked[0], steps[0], path, book, rate)]
        loads = [step_load.stage.load if step_load.is_one else None for step_load in asked]
        update: dict[str, object] = {
            "steps": tuple(_without_repeats(steps)),
            "credits": _credits(turns, asked, course, path),
            "beyond": beyond_credit(plan, path, course, [step for *_, step in turns], loads),
        }
    elif any(gate.capacity for gate in path.gates):
        return found.model_copy(update={"unknown": (*limit_path.unknown, _CREDIT)})
    else:
        paths = {
            count: on.path
            for count in set(used)
            if count and (on := limit_path_of(plan, books, disks=count))
        }
        steps = []
        for turn, step_load, count in zip(turns, asked, used, strict=True):
            path = paths.get(count or 0, Path(()))
            course = simulate(path, [step_load.stage])
            at = sum(step.seconds for step in steps)
            steps.append(_step(turn, 0, step_load, course, path, book, at=at))
        update = {"steps": tuple(steps)}
    seconds = sum(step.seconds for step in steps)
    update |= {"expectations": book.expectations(), "seconds": seconds}
    return found.model_copy(update=update)


def with_expectation(plan: Plan, books: Books) -> Plan:
    """The plan with what it should measure. Raises InvalidValue for a ratio to nothing."""
    expectation = expectation_of(plan, books)
    check_ratios(plan, expectation)
    plan = plan.model_copy(update={"expectation": expectation})
    search = plan.search
    step = next((s for s in plan.steps if search and s.name == search.capacity), None)
    expected = plan.expected_of(step.index) if step else None
    if search is None or expected is None or expectation is None or not expectation.credits:
        return plan
    # It is kept below the documented rate of its capacity without credit.
    search = search.model_copy(update={"lasting_iops": expected.lasting.high_iops})
    return plan.model_copy(update={"search": search})


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
    rates: dict[str, float] = {}
    known: dict[int, StepLoad] = {}
    for _, _, step in turns:
        if step.index in known:
            continue
        step_load = asked_by(
            step,
            capacity_bytes=plan.target.capacity_bytes,
            read_ahead_kb=disk.read_ahead_kb if disk else None,
            rates=rates,
            disks=len(plan.target.disks),
        )
        if limit_path.holds_credit and step.role == "fill":
            step_load = replace(step_load, stage=replace(step_load.stage, credit_is_held=True))
        known[step.index] = step_load
        load = step_load.stage.load
        if load and (expected := expect_on(limit_path.path, load)) is not None:
            rates[step.name] = expected.begin.iops
    return [known[step.index] for _, _, step in turns]


class _Book:
    """What loads get with the credit that there is; equal questions are answered once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Path, Load, tuple[float, ...]], Expectation | None] = {}

    def find(self, path: Path, load: Load, credit: tuple[float, ...]) -> Expectation | None:
        """Return what a load gets that starts with these balances; None if nothing is known."""
        key = (path, load, credit)
        if key not in self._known:
            self._known[key] = expect_on(path, load, credit=credit)
        return self._known[key]

    def number(self, expected: Expectation | None) -> int | None:
        """Return its place in `expectations`; None for none."""
        found = filter(None, self._known.values())
        return next((n for n, one in enumerate(found) if one is expected), None)

    def expectations(self) -> tuple[Expectation, ...]:
        """Return all that were found, without the sources of their bounds: the plan lists these
        once."""

        def brief(level: ExpectedLevel) -> ExpectedLevel:
            bounds = tuple(bound.model_copy(update={"source": ""}) for bound in level.bounds)
            return level.model_copy(update={"bounds": bounds})

        return tuple(
            found.model_copy(update={"begin": brief(found.begin), "lasting": brief(found.lasting)})
            for found in filter(None, self._known.values())
        )


def _step(
    turn: _Turn, number: int, asked: StepLoad, course: Simulation, path: Path, book: _Book,
    at: float = 0.0,
) -> StepExpectation:  # fmt: skip
    """What a step in its turn should find, from stage `number` of a course that begins at `at`."""
    run, of_round, step = turn
    legs, credit, stage = course.of_stage(number), course.credit[number], asked.stage
    seconds = sum(leg.seconds for leg in legs) or step.expected_s
    expected = None
    if asked.is_one and stage.load is not None:
        held = path.with_held_credit() if stage.credit_is_held else path
        balances = held.full() if stage.credit_is_held else credit
        expected = book.find(held, stage.load, balances)
    done = sum(leg.iops * leg.seconds for leg in legs)
    return StepExpectation(
        index=step.index,
        name=step.name,
        run=run,
        round=of_round,
        start_s=at + (legs[0].start_s if legs else 0.0),
        seconds=seconds,
        mean_iops=None if expected is None else done / seconds,
        credit=_shares(path, credit),
        load=book.number(expected),
    )


def _loading(
    turn: _Turn, asked: StepLoad, step: StepExpectation, path: Path, book: _Book, rate: float
) -> StepExpectation:
    """What the first step should find where it is the first to read what a snapshot held, loaded at
    `rate` bytes a second; 0: nothing is promised of it."""
    load = asked.stage.load
    if load is None or not load.read_share:
        return step
    if not rate:
        return step.model_copy(update={"mean_iops": None, "load": None})
    gate = Gate("disk-throughput", "bytes", Allowance(rate), covers="read", source=_LOADING)
    slow = replace(path, gates=(*path.gates, gate))
    return _step(turn, 0, asked, simulate(slow, [asked.stage]), slow, book)


_LOADING = "the rate at which the snapshot is loaded"


def _shares(path: Path, credit: Sequence[float]) -> dict[LimitName, float]:
    """The fill of each bucket (1 is full); of two with one name the emptier."""
    shares: dict[LimitName, float] = {}
    for gate, balance in zip(path.gates, credit, strict=True):
        if gate.capacity:
            share = balance / gate.capacity
            shares[gate.limit] = min(shares.get(gate.limit, 1.0), share)
    return shares


def _without_repeats(steps: Sequence[StepExpectation]) -> Iterator[StepExpectation]:
    """Yield the steps without runs that equal the run before. Every run stores its plan, so this
    keeps it small."""
    before = None
    for _, of_run in groupby(steps, key=lambda step: step.run):
        distinct = list(of_run)
        alike = [(s.index, s.round, s.load, round(s.mean_iops or 0, 3)) for s in distinct]
        if alike != before:
            yield from distinct
        before = alike


def _credits(
    turns: Sequence[_Turn], asked: Sequence[StepLoad], course: Simulation, path: Path
) -> tuple[CreditRange, ...]:
    if not any(gate.capacity for gate in path.gates):
        return ()
    stages = [step_load.stage for step_load in asked]
    soonest = simulate(path, stages, case="least")
    latest = simulate(path, stages, case="best")
    ranges = []
    for index, gate in enumerate(path.gates):
        if not gate.capacity:
            continue
        empty = course.first_empty(index)
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
    region = rental.scope.region if rental else None
    if rental is None or rental.disk is None or region is None:
        return None
    if rental.scope.provider in EMULATED_PROVIDERS:
        return None
    tier = rental.spec.text("performance_tier")
    return disk_price(books, rental.catalogue, rental.disk, region, limit_path.limits, tier=tier)


_CREDIT = "what steps find that do not load every disk alike: each has burst credit of its own"


@dataclass(frozen=True)
class PastStep:
    """A measured step: its load (None: not a single load), blocks per second, its duration, and the
    idle time before it; seconds. `credit_is_held`: it spent no credit."""

    load: Load | None
    iops: float | None
    seconds: float
    idle_s: float = 0.0
    credit_is_held: bool = False


def expected_afterwards(
    path: Path, done: Sequence[PastStep]
) -> list[tuple[Expectation, dict[LimitName, float]] | None]:
    """What each step should have reached, and the fill of each bucket when it started (1 is full),
    in order; None where its load or every limit is unknown."""
    book, results, credit = _Book(), [], path.full()
    for step in done:
        if step.idle_s > 0:
            credit = simulate(path, [Stage(None, seconds=step.idle_s)], credit=credit).left
        expected = book.find(path, step.load, credit) if step.load else None
        results.append((expected, _shares(path, credit)) if expected else None)
        held = step.iops and step.load and step.load.model_copy(update={"max_per_s": step.iops})
        stage = Stage(held or None, max(step.seconds, 0.0), credit_is_held=step.credit_is_held)
        credit = simulate(path, [stage], credit=credit).left
        if expected is not None and step.iops and not step.credit_is_held:
            credit = _without_rest(path, credit, expected, step.iops)
    return results


_REST = 0.05
"""Of a full bucket: what rounding and noise of many steps add up to; our choice."""


def _without_rest(
    path: Path, credit: tuple[float, ...], expected: Expectation, iops: float
) -> tuple[float, ...]:
    """Return the balances after a step at full load: one that was slower than its credit allows
    ended without, and the little that the sum leaves is what its noise added up to."""
    is_full_load = expected.load.max_per_s is None and expected.begin.limited_by != "latency"
    if not expected.bursts or not is_full_load or iops >= (1 - _SLOWER) * expected.begin.iops:
        return credit
    limit = expected.lasting.limited_by
    return tuple(
        0.0 if gate.limit == limit and left <= _REST * gate.capacity else left
        for gate, left in zip(path.gates, credit, strict=True)
    )


_SLOWER = 0.1
