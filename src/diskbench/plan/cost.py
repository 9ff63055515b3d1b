"""How often each step of a plan runs, how long that takes, and what it costs: pure.

The cost is that of the rental for this time, and of the transactions of the steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.catalog.charges import Work, charge_of, expected_work
from diskbench.catalog.cost import CellCost, cost_of
from diskbench.fio.estimate import count, request_sizes
from diskbench.fio.jobfile import jobs, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from diskbench.fio.jobfile import Job
    from diskbench.model.spec import Plan, Step

RENTING_S = 360.0
"""Seconds that a machine is rented in addition to measuring, to start and stop; our estimate."""
RENTING_HERE_S = {"lab": 10.0, "fake": 1.0}
"""The same for an emulated machine on this computer; measured 2026-11 on two cores."""


def renting_s(plan: Plan) -> float:
    """Return the seconds that the machine is rented besides measuring; 0 if nothing is rented."""
    if plan.rental is None:
        return 0.0
    return RENTING_HERE_S.get(plan.rental.scope.provider, RENTING_S)


def repetitions(plan: Plan, *, longest: bool) -> Iterator[tuple[Step, int]]:
    """Yield each step and how often it runs in all runs together. Steps of a loop count with the
    fewest rounds, or with `longest` with the most."""
    runs = len(plan.run_ids)
    loop = plan.loop
    for position, step in enumerate(plan.steps):
        if loop is None or position < loop.first:
            yield step, runs
        else:
            yield step, runs * (loop.max_rounds if longest else loop.min_rounds)


def longest_s(plan: Plan) -> float:
    """Return how long the plan's steps may take in seconds, with loops run to their last round."""
    return sum(step.expected_s * times for step, times in repetitions(plan, longest=True))


def left_s(plan: Plan, done: Iterable[str]) -> float:
    """Return how long the rest of the plan may take in seconds. `done` are the names of the
    finished steps; a step of a loop occurs once for each finished round."""
    expected = {step.name: step.expected_s for step in plan.steps}
    return max(longest_s(plan) - sum(expected.get(name, 0.0) for name in done), 0.0)


def cost_of_plan(plan: Plan, *, longest: bool = False) -> CellCost:
    """Return the cost of all runs of a trial if its steps take as long as expected. `longest`: its
    loops run to their last round. The cost is 0 if nothing is rented."""
    seconds = sum(step.expected_s * times for step, times in repetitions(plan, longest=longest))
    work = _work(plan, longest=longest)
    return cost_of(plan.rental, renting_s(plan) + seconds, work)


def _work(plan: Plan, *, longest: bool) -> Sequence[Work]:
    """Return the most requests that the steps can make, for a disk that charges for them."""
    rental = plan.rental
    if rental is None or rental.disk is None:
        return ()
    cloud = rental.catalogue
    if charge_of(cloud, rental.disk, rental.scope.region) is None:
        return ()
    work = []
    for step, times in repetitions(plan, longest=longest):
        of_step = jobs(parse(step.job).sections)
        sizes = sorted({size for job in of_step for size in request_sizes(job)})
        rate = _asked_per_s(of_step)
        work.append(expected_work(cloud, rental.disk, sizes, step.expected_s * times, rate))
    return work


def _asked_per_s(of_step: Sequence[Job]) -> float | None:
    """Return the summed rate limit of a step's jobs; None if one of them has no limit."""
    rates = [count(job, "rate_iops", 0) * count(job, "numjobs") for job in of_step]
    return float(sum(rates)) if rates and all(rates) else None
