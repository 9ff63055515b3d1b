"""The cost of a plan: the rental for its duration, and the transactions of its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.catalog.prices.charges import Work
from diskbench.catalog.prices.cost import CellCost, cost_of
from diskbench.catalog.prices.transactions import charge_of, expected_work
from diskbench.fio.estimate import METADATA_ENGINES, count
from diskbench.fio.jobfile import jobs, parse
from diskbench.fio.numbers import blocks_of
from diskbench.plan.duration import renting_s, repetitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.fio.jobfile import Job
    from diskbench.model.spec import Plan

_FIO_BLOCK_BYTES = 4096
"""fio's default block size (HOWTO, "blocksize")."""


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


def request_sizes(job: Job) -> tuple[int, ...]:
    """Return the request sizes of a job in bytes; empty for a job of file operations only."""
    engine = (job.get("ioengine") or "").lower()
    if engine == "null" or engine in METADATA_ENGINES:
        return ()
    sizes = [
        size
        for name in ("bs", "bsrange", "bssplit")
        for size in blocks_of(name, job.get(name) or "") or ()
    ]
    return tuple(sizes) or (_FIO_BLOCK_BYTES,)


def _asked_per_s(of_step: Sequence[Job]) -> float | None:
    """Return the summed rate limit of a step's jobs; None if one of them has no limit."""
    rates = [count(job, "rate_iops", 0) * count(job, "numjobs") for job in of_step]
    return float(sum(rates)) if rates and all(rates) else None
