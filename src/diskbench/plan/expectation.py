"""The expected result of each step, and the credit left when it starts: of a plan, from promised
rates, and of steps that ran without one, from measured rates; and how long a load must run to see
what a disk gives without credit. Pure.

Every step of a plan is assumed to load the disk fully, or up to its own rate limit. A loop counts
with its fewest rounds. A step that loads k of a trial's equal disks alike gets what k disks give,
up to the machine's limits. One that loads a disk more than another has no expectation: where it
ends depends on both. Nor is there one where a limit has burst credit, which each disk would keep by
itself.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from diskbench.catalog.books import Books
from diskbench.catalog.bucket import Allowance, lasts_s
from diskbench.catalog.cost import disk_price
from diskbench.catalog.expect import Simulation, Stage, expect_on, simulate
from diskbench.catalog.path import Gate, Path
from diskbench.model.expectation import (
    BeyondCredit,
    CreditEnd,
    CreditRange,
    DiskPrice,
    Expectation,
    LimitName,
    Load,
    PlanExpectation,
    StepExpectation,
)
from diskbench.model.spec import EMULATED_PROVIDERS, Plan, Step
from diskbench.plan.limit_path import limit_path_of
from diskbench.plan.loads import asked_by, disks_loaded
from diskbench.units import MIB

_Turn = tuple[int, int | None, Step]
_Known = dict[tuple[Path, Load, tuple[float, ...]], Expectation | None]
"""What loads get with the credit that there is; equal questions are answered once."""
_LOADING = "the rate at which the snapshot is loaded"
_CREDIT = "burst credit in steps that load the disks unevenly: each disk has its own"
_REST = 0.05
"""Of a full bucket: what rounding and noise of many steps add up to; our choice."""
_BY_BYTES = frozenset({"disk-throughput", "vm-throughput", "vm-cached-throughput"})


def expectation_of(plan: Plan, books: Books, path: Path | None = None) -> PlanExpectation | None:
    """Return what a plan should measure, on `path` instead of its own path if given; None if the
    path is unknown."""
    path = path or limit_path_of(plan, books)
    if path is None:
        return None
    known, disks, turns = _Known(), len(plan.target.disks), list(in_turn(plan))
    asked = _asked(plan, turns, path)
    used = [disks_loaded(step) if disks > 1 else disks for _, _, step in turns]
    found = PlanExpectation(
        seconds=sum(step.expected_s for _, _, step in turns),
        price=_price(plan, books, path),
        sources=path.sources,
        unknown=path.unknown,
    )
    if all(count in {0, disks} for count in used):
        course = simulate(path, asked)
        steps = [
            _step(turn, number, stage, course, path, known)
            for number, (turn, stage) in enumerate(zip(turns, asked, strict=True))
        ]
        if (rate := plan.rental.loads_bytes_per_s if plan.rental else None) is not None:
            steps[:1] = [_loading(turns[0], asked[0], steps[0], path, known, rate)]
        loads = [stage.load if stage.is_one else None for stage in asked]
        update: dict[str, object] = {
            "steps": tuple(_without_repeats(steps)),
            "credits": _credits(turns, asked, course, path),
            "beyond": _beyond_credit(plan, path, course, [step for *_, step in turns], loads),
        }
    elif any(path.full()):
        return found.model_copy(update={"unknown": (*path.unknown, _CREDIT)})
    else:
        paths = {
            count: on
            for count in set(used)
            if count and (on := limit_path_of(plan, books, disks=count))
        }
        steps = []
        for turn, stage, count in zip(turns, asked, used, strict=True):
            path = paths.get(count or 0, Path())
            at = sum(step.seconds for step in steps)
            steps.append(_step(turn, 0, stage, simulate(path, [stage]), path, known, at=at))
        update = {"steps": tuple(steps)}
    expectations = tuple(_brief(expected) for expected in known.values() if expected)
    seconds = sum(step.seconds for step in steps)
    return found.model_copy(update={**update, "expectations": expectations, "seconds": seconds})


def with_expectation(plan: Plan, books: Books) -> Plan:
    """The plan with what it should measure."""
    expectation = expectation_of(plan, books)
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


def _asked(plan: Plan, turns: Sequence[_Turn], path: Path) -> list[Stage]:
    disk = plan.facts.disk
    rates: dict[str, float] = {}
    known: dict[int, Stage] = {}
    for _, _, step in turns:
        if step.index in known:
            continue
        stage = asked_by(
            step,
            capacity_bytes=plan.target.capacity_bytes,
            read_ahead_kb=disk.read_ahead_kb if disk else None,
            rates=rates,
            disks=len(plan.target.disks),
        )
        is_held = path.holds_credit and step.role == "fill"
        known[step.index] = replace(stage, credit_is_held=is_held)
        if stage.load and (expected := expect_on(path, stage.load)) is not None:
            rates[step.name] = expected.begin.iops
    return [known[step.index] for _, _, step in turns]


def _find(
    known: _Known, path: Path, load: Load, credit: tuple[float, ...]
) -> tuple[Expectation | None, int | None]:
    """Return what a load gets that starts with these balances, and its place among those that are
    known; None if nothing is."""
    key = (path, load, credit)
    if key not in known:
        known[key] = expect_on(path, load, credit=credit)
    expected, found = known[key], filter(None, known.values())
    return expected, next((n for n, one in enumerate(found) if one is expected), None)


def _brief(expected: Expectation) -> Expectation:
    """Return it without the sources of its bounds: the plan lists these once."""
    levels = {}
    for name, level in (("begin", expected.begin), ("lasting", expected.lasting)):
        bounds = tuple(bound.model_copy(update={"source": ""}) for bound in level.bounds)
        levels[name] = level.model_copy(update={"bounds": bounds})
    return expected.model_copy(update=levels)


def _step(
    turn: _Turn, number: int, stage: Stage, course: Simulation, path: Path, known: _Known,
    at: float = 0.0,
) -> StepExpectation:  # fmt: skip
    """What a step in its turn should find, from stage `number` of a course that begins at `at`."""
    run, of_round, step = turn
    legs, credit = course.of_stage(number), course.credit[number]
    seconds = sum(leg.seconds for leg in legs) or step.expected_s
    expected = place = None
    if stage.is_one and stage.load is not None:
        held = path.with_held_credit() if stage.credit_is_held else path
        balances = held.full() if stage.credit_is_held else credit
        expected, place = _find(known, held, stage.load, balances)
    done = sum(leg.iops * leg.seconds for leg in legs)
    return StepExpectation(
        index=step.index,
        name=step.name,
        run=run,
        round=of_round,
        start_s=at + (legs[0].start_s if legs else 0.0),
        seconds=seconds,
        mean_iops=None if expected is None else done / seconds,
        credit=path.shares(credit),
        load=place,
    )


def _loading(
    turn: _Turn, stage: Stage, step: StepExpectation, path: Path, known: _Known, rate: float
) -> StepExpectation:
    """What the first step should find where it is the first to read what a snapshot held, loaded at
    `rate` bytes a second; 0: nothing is promised of it."""
    if stage.load is None or not stage.load.read_share:
        return step
    if not rate:
        return step.model_copy(update={"mean_iops": None, "load": None})
    gate = Gate("disk-throughput", "bytes", Allowance(rate), covers="read", source=_LOADING)
    slow = replace(path, gates=(*path.gates, gate))
    return _step(turn, 0, stage, simulate(slow, [stage]), slow, known)


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
    turns: Sequence[_Turn], stages: Sequence[Stage], course: Simulation, path: Path
) -> tuple[CreditRange, ...]:
    if not any(path.full()):
        return ()
    soonest = simulate(path, stages, case="least")
    latest = simulate(path, stages, case="best")
    ranges = []
    for index, gate in enumerate(path.gates):
        if not gate.capacity:
            continue
        empty, early, late = (of.first_empty(index) for of in (course, soonest, latest))
        run, _, step = turns[empty.stage] if empty else (None, None, None)
        ranges.append(
            CreditRange(
                bucket=gate.limit,
                gone_s=empty.end_s if empty else None,
                earliest_s=early.end_s if early else None,
                latest_s=late.end_s if late else None,
                full_load_s=lasts_s(gate.allowance) or 0.0,
                run=run,
                step=step.name if step else None,
            )
        )
    return tuple(ranges)


def _price(plan: Plan, books: Books, path: Path) -> DiskPrice | None:
    rental = plan.rental
    region = rental.scope.region if rental else None
    if rental is None or rental.disk is None or region is None:
        return None
    if rental.scope.provider in EMULATED_PROVIDERS:
        return None
    tier = rental.spec.text("performance_tier")
    return disk_price(books, rental.catalogue, rental.disk, region, path.limits, tier=tier)


def expected_afterwards(
    path: Path, done: Iterable[Stage]
) -> list[tuple[Expectation, dict[LimitName, float]] | None]:
    """What each step should have reached, and the fill of each bucket when it started (1 is full),
    in order; None where its load or every limit is unknown. `done` are their own loads, the rates
    that they `reached` and the idle time before each. A rate that is not known spent no credit."""
    results: list[tuple[Expectation, dict[LimitName, float]] | None] = []
    known, left = _Known(), path.full()
    for stage in done:
        did = stage if stage.reached else replace(stage, load=None)
        course = simulate(path, [did], credit=left)
        (credit,), left = course.credit, course.left
        expected = _find(known, path, stage.load, credit)[0] if stage.load else None
        results.append((expected, path.shares(credit)) if expected else None)
        if expected is not None and stage.reached and not stage.credit_is_held:
            left = _without_rest(path, left, expected, stage.reached)
    return results


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
BEYOND = 1.2
"""The time for which a load must run, over the time until the credit is used up: MR-3's."""
_RANDOM = Load(block_bytes=4096, depth=32)
"""What the profile burst asks for by default."""
_IN_SEQUENCE = Load(block_bytes=MIB, random=False, depth=8)
_IN_SEQUENCE_FLAGS = " --set rw=read --set bs=1m --set iodepth=8"
_FALL = 0.8
_AFTER = 0.1
"""Of the time that the credit lasts: a plan shows the lasting rate if its load goes on for so long
after it, and for a minute (a cliff needs one on either side, MR-4; a measured cliff came 6 % later
than computed). Our choice."""
_LEAST_AFTER_S = 60.0
_IN_MINUTES_S = 600.0


def _falls(expected: Expectation | None) -> bool:
    """Whether a load falls by a fifth or more once the credit is used up."""
    return (
        expected is not None
        and expected.lasts_s is not None
        and expected.lasting.iops <= _FALL * expected.begin.iops
    )


def _beyond_credit(
    plan: Plan, path: Path, course: Simulation, turns: Sequence[Step], loads: Sequence[Load | None]
) -> BeyondCredit | None:
    """Return what a plan shows of the rate after the credit, and what would show it; None if no
    load that it measures falls, or the disk has no bucket. `turns` are its steps in order, `loads`
    theirs, and `course` is their simulation."""
    measured = [number for number, step in enumerate(turns) if step.role in ("measure", "offered")]
    if not any((load := loads[n]) and _falls(expect_on(path, load)) for n in measured):
        return None
    # A plan that measures one step for so long as its user says shows it with its own load.
    steps, first = {turns[number].index for number in measured}, loads[measured[0]]
    is_own = len(steps) == 1 and "runtime" in plan.profile.parameters and not plan.loop
    own = [(first, "")] if first is not None and is_own else []
    for load, flags in own or ((_RANDOM, ""), (_IN_SEQUENCE, _IN_SEQUENCE_FLAGS)):
        expected = expect_on(path, load)
        if expected is None or not _falls(expected):
            continue
        if not own and load is _RANDOM and expected.lasting.limited_by in _BY_BYTES:
            continue
        legs = [leg for leg in simulate(path, [Stage(load)]).legs if leg.emptied]
        lasts_s = max((leg.end_s for leg in legs), default=0.0)
        gates = {gate for leg in legs for gate in leg.emptied}
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
            flags=f"{'' if own else '--profile burst '}--set runtime={runtime}{flags}",
        )
    return None


def _ends(
    course: Simulation, measured: Sequence[int], gates: set[int], lasts_s: float
) -> CreditEnd:
    gone = [leg.end_s for gate in gates if (leg := course.first_empty(gate)) is not None]
    if len(gone) < len(gates) or not gone:
        return "before"
    legs = [leg for number in measured for leg in course.of_stage(number)]
    end_s = max((leg.end_s for leg in legs), default=0.0)
    needed = max(_AFTER * lasts_s, min(_LEAST_AFTER_S, lasts_s / 2))
    return "after" if end_s - max(gone) >= needed else "at"
