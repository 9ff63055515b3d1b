"""How often each step of a plan runs, how long that takes, what it costs, and whether that is
within a cost limit: pure.

The cost is that of the rental for this time, and of the transactions of the steps.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from diskbench.catalog.cost import CellCost, cost_of, refresh_command
from diskbench.catalog.prices import Work, charge_of, expected_work
from diskbench.errors import CostRefused
from diskbench.fio.estimate import count, request_sizes
from diskbench.fio.jobfile import jobs, parse
from diskbench.model.base import Frozen
from diskbench.model.outcome import Problem
from diskbench.model.rental import Rental
from diskbench.model.spec import Plan, Step
from diskbench.units import format_usd

RENTING_S = 360.0
"""Seconds that a machine is rented in addition to measuring, to start and stop; our estimate."""
RENTING_HERE_S = {"lab": 10.0, "fake": 1.0}
"""The same for an emulated machine on this computer; measured 2026-11 on two cores."""


FILLED_PER_S = 60e6
"""Bytes a second at which a disk is filled and its snapshot made, both together; our estimate."""


def snapshot_s(plan: Plan) -> float:
    """Return the seconds that the snapshot of a filled disk takes; 0 where none is made."""
    rent = plan.cell.rent
    return plan.space_bytes / FILLED_PER_S if rent is not None and rent.snapshot_of_fill else 0.0


def renting_s(plan: Plan) -> float:
    """Return the seconds that the machine is rented besides measuring; 0 if nothing is rented."""
    if plan.rental is None:
        return 0.0
    once = RENTING_HERE_S.get(plan.rental.scope.provider, RENTING_S)
    return once + snapshot_s(plan)


def repetitions(plan: Plan, *, longest: bool) -> Iterator[tuple[Step, int]]:
    """Yield each step and how often it runs in all runs together. Steps of a loop count with the
    fewest rounds, or with `longest` with the most."""
    runs, loop = len(plan.run_ids), plan.loop
    for position, step in enumerate(plan.steps):
        rounds = (loop.max_rounds if longest else loop.min_rounds) if loop else 1
        yield step, runs * (rounds if loop and position >= loop.first else 1)


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
    steps = list(repetitions(plan, longest=longest))
    seconds = renting_s(plan) + sum(step.expected_s * times for step, times in steps)
    work = _work(plan.rental, steps)
    return cost_of(plan.rental, seconds, work)


def _work(rental: Rental | None, steps: Iterable[tuple[Step, int]]) -> Sequence[Work]:
    if rental is None or rental.disk is None:
        return ()
    cloud = rental.catalogue
    if charge_of(cloud, rental.disk, rental.scope.region) is None:
        return ()
    work = []
    for step, times in steps:
        of_step = jobs(parse(step.job))
        sizes = sorted({size for job in of_step for size in request_sizes(job)})
        rates = [count(job, "rate_iops", 0) * count(job, "numjobs") for job in of_step]
        rate = float(sum(rates)) if rates and all(rates) else None  # no limit of one, none of all
        work.append(expected_work(cloud, rental.disk, sizes, step.expected_s * times, rate))
    return work


def check_cost(
    costs: Sequence[CellCost], limit_usd: float | None, assume_price_usd_per_hour: float | None
) -> float:
    """Return the total cost in USD, at most `limit_usd`; None sets no limit.

    Where a price is not known, the assumed hourly price counts. Raises CostRefused if the total
    exceeds the limit, or if there is a limit and a price is neither known nor assumed.
    """
    totals = [cost.total_or(assume_price_usd_per_hour) for cost in costs]
    known = [total for total in totals if total is not None]
    total = math.fsum(known)
    if limit_usd is None:
        unpriced = (cost.known_usd for cost, of in zip(costs, totals, strict=True) if of is None)
        return math.fsum([*known, *unpriced])
    if len(known) < len(totals):
        names = dict.fromkeys(name for cost in costs for name in cost.unknown)
        regions = dict.fromkeys(cost.unpriced_region for cost in costs if cost.unpriced_region)
        commands = [f"{refresh_command(region)}; or " for region in regions]
        raise CostRefused(
            f"--max-cost {limit_usd:g}: no price is known for {', '.join(names)}"
            + (f", in {', '.join(regions)}" if regions else ""),
            advice=f"{''.join(commands)}say what an hour costs: --assume-price USD",
        )
    if not total <= limit_usd:
        transactions = math.fsum(cost.transactions_usd for cost in costs)
        of_it = f", {format_usd(transactions)} of it for transactions" if transactions else ""
        raise CostRefused(
            f"--max-cost {limit_usd:g}: it may cost {format_usd(total)}{of_it}",
            advice="raise --max-cost, measure less, or rent a cheaper machine or disk",
        )
    return total


class PricedPlan(Frozen):
    """One trial: its plan with its expectation, its cost if the steps take as long as expected, and
    its highest cost, with loops run to their last round. `asked` says whether the provider itself
    was queried or only the catalogue."""

    plan: Plan
    asked: bool
    cost: CellCost
    longest_cost: CellCost


class RefusedPlan(Frozen):
    """A trial that cannot be measured; `address` is None for a machine that would be rented."""

    address: str | None
    replicate: int
    problem: Problem


class PlanDocument(Frozen):
    """All trials of one command line."""

    format: Literal[1] = 1
    trials: tuple[PricedPlan, ...]
    refused: tuple[RefusedPlan, ...] = ()
