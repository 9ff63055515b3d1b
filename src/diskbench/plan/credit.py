"""What burst credit will do to a plan: when its steps will have used it up. Pure.

Every step is taken to load the disk as far as it goes, or as far as its own rate lets it, with
requests of its block size; a step without such requests lets the credit refill. In sequence through
the page cache requests are merged: they count as the largest that is charged once. The balance of
each bucket goes from step to step (catalog/bucket.py has the formula). What the guest answers from
memory, and a machine slower than its disk, make the credit last longer than told.

Held against a measurement: "Benchmarking the Disk Speed of IaaSes" (2018) saw gp2 of 20 GiB
collapse in the 34th run of GoBonnieGo, this says in the 37th (tests/unit/plan/test_credit.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.catalog.bucket import charge
from diskbench.fio.estimate import count, size_bytes
from diskbench.fio.jobfile import jobs, parse
from diskbench.model.base import Frozen
from diskbench.plan.cost import request_sizes
from diskbench.units import KIB

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from diskbench.catalog.lookup import Allowance, DiskLimits
    from diskbench.fio.jobfile import Job
    from diskbench.model.spec import Plan, Step


_MERGED_BYTES = 256 * KIB
"""Where a cloud says nothing of the largest request that counts once."""


class Credit(Frozen):
    """`gone_s` is how long after the first step begins a bucket is first empty; None: never.
    `expected_s` is how long all steps take, `lasts_s` how long a full bucket bears full load."""

    gone_s: float | None
    expected_s: float
    lasts_s: float


def credit_of(plan: Plan, limits: DiskLimits, time_scale: float = 1.0) -> Credit | None:
    """The outlook of a plan on a disk; None for one without a burst bucket."""
    buckets = [
        _Bucket(unit, allowance, pool.covers, (allowance.capacity or 0.0) / time_scale)
        for pool in limits.pools
        for unit, allowance in (("iops", pool.iops), ("bytes", pool.bytes_per_s))
        if allowance is not None
    ]
    lasts = [
        one.balance / (one.allowance.ceiling - one.allowance.baseline)
        for one in buckets
        if one.balance
    ]
    if not lasts:
        return None
    for one in buckets:
        one.capacity = one.balance
    at, gone = 0.0, None
    for step in in_order(plan):
        load = _load(step, limits.max_io_bytes or _MERGED_BYTES)
        emptied = _spend(buckets, load, step.expected_s, limits)
        if emptied is not None and gone is None:
            gone = at + emptied
        at += step.expected_s
    return Credit(gone_s=gone, expected_s=at, lasts_s=min(lasts))


def in_order(plan: Plan) -> Iterator[Step]:
    """The steps of all runs, one after the other; a loop with its fewest rounds."""
    first = plan.loop.first if plan.loop else len(plan.steps)
    rounds = plan.loop.min_rounds if plan.loop else 0
    for _ in plan.run_ids:
        yield from plan.steps[:first]
        for _ in range(rounds):
            yield from plan.steps[first:]


@dataclass
class _Bucket:
    unit: str
    allowance: Allowance
    covers: str
    balance: float
    capacity: float = 0.0

    @property
    def rate(self) -> float:
        return self.allowance.ceiling if self.balance > 0 else self.allowance.baseline


@dataclass(frozen=True)
class _Load:
    """What a step asks for; an infinite rate is all that there is, no size nothing at all."""

    request_bytes: int | None
    directions: frozenset[str]
    per_s: float = math.inf


def _load(step: Step, merged_bytes: int) -> _Load:
    found = jobs(parse(step.job).sections)
    sizes = [
        max(size, merged_bytes) if _is_merged(job) else size
        for job in found
        for size in request_sizes(job)
    ]
    if not sizes:
        return _Load(None, frozenset())
    words = " ".join((job.get("rw") or job.get("readwrite") or "read") for job in found)
    directions = {"read", "write"} if "rw" in words else set()
    directions |= {way for way in ("read", "write") if way in words}
    return _Load(min(sizes), frozenset(directions), _asked_per_s(found, min(sizes)))


def _is_merged(job: Job) -> bool:
    return not job.flag("direct") and "rand" not in (job.get("rw") or "")


def _asked_per_s(of_step: Sequence[Job], request_bytes: int) -> float:
    """The requests a second that the jobs of a step are held to together."""
    total = 0.0
    for job in of_step:
        rate = float(count(job, "rate_iops", 0))
        if not rate:
            rate = (size_bytes((job.get("rate") or "").split(",")[0]) or 0) / request_bytes
        if not rate:
            return math.inf
        total += rate * count(job, "numjobs")
    return total


def _spend(buckets: list[_Bucket], load: _Load, seconds: float, limits: DiskLimits) -> float | None:
    """Let a load run for a time; the seconds until a bucket is first empty, if one is."""
    operations, charged = charge(limits, load.request_bytes or 1)
    concerned = [
        one
        for one in buckets
        if load.request_bytes and (one.covers == "both" or one.covers in load.directions)
    ]
    costs = {
        id(one): operations
        if one.unit == "iops"
        else (charged if one.capacity else float(load.request_bytes or 0))
        for one in concerned
    }
    at, emptied = 0.0, None
    while at < seconds:
        per_s = min((one.rate / costs[id(one)] for one in concerned), default=0.0)
        per_s = min(per_s, load.per_s)
        drains = {
            id(one): per_s * costs.get(id(one), 0.0) - one.allowance.baseline for one in buckets
        }
        until = [
            one.balance / drains[id(one)]
            for one in buckets
            if one.balance > 0 and drains[id(one)] > 0
        ]
        length = min([seconds - at, *until])
        for one in buckets:
            if one.capacity:
                left = min(one.capacity, one.balance - drains[id(one)] * length)
                was, one.balance = one.balance, left if left > one.capacity * 1e-9 else 0.0
                if was > 0 and one.balance == 0.0 and emptied is None:
                    emptied = at + length
        at += length
    return emptied
