"""How a disk with a burst bucket behaves under a steady demand: when it empties, what is left.

The bucket B holds C credits and starts full. Under a demand that is served at rate r its balance
changes by b - r a second (b the baseline), so a burst at r > b lasts

    t = C / (r - b)

and the rate is b from then on. Source: AWS EC2 User Guide, general-purpose.md (2023-05-11): a
gp2 volume of 20 GiB has C = 5,400,000, r = 3,000, b = 100: 1,862 s. IOPS and bytes have buckets
of their own where the cloud says so (Azure), and whichever is tighter limits the rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from diskbench.catalog.lookup import Allowance, DiskLimits, Pool

LimitedBy = Literal["demand", "iops", "bytes"]


@dataclass(frozen=True)
class Demand:
    """Requests a second of one size and direction; an infinite rate asks for all there is."""

    request_bytes: int
    ops_per_s: float = math.inf
    direction: Literal["read", "write"] = "read"


@dataclass(frozen=True)
class Phase:
    """From `start_s` on the disk serves `ops_per_s` requests, until the next phase begins."""

    start_s: float
    ops_per_s: float
    bytes_per_s: float
    limited_by: LimitedBy


@dataclass(frozen=True)
class _Side:
    """One limit as seen by a request: what one costs, and the bucket's state."""

    name: LimitedBy
    cost: float
    allowance: Allowance
    balance: float

    @property
    def rate(self) -> float:
        """Requests a second that this side lets through now."""
        full = self.balance > 0
        return (self.allowance.ceiling if full else self.allowance.baseline) / self.cost

    def after(self, ops_per_s: float, seconds: float) -> float:
        """The balance after serving `ops_per_s` for `seconds`; never above the capacity."""
        capacity = self.allowance.capacity or 0.0
        gained = (self.allowance.baseline - ops_per_s * self.cost) * seconds
        left = min(capacity, self.balance + gained)
        return 0.0 if left <= capacity * 1e-12 else left

    def empty_in(self, ops_per_s: float) -> float:
        drain = ops_per_s * self.cost - self.allowance.baseline
        return self.balance / drain if drain > 0 and self.balance > 0 else math.inf


def phases(
    limits: DiskLimits, demand: Demand, *, fill: float = 1.0, time_scale: float = 1.0
) -> tuple[Phase, ...]:
    """What the disk will serve, from now on. A disk without known limits serves the demand.

    `fill` is how full the buckets are (1 is full); `time_scale` divides their capacity.
    """
    sides = [
        side
        for pool in limits.pools
        if pool.covers in {"both", demand.direction}
        for side in _sides(pool, limits, demand, fill / time_scale)
    ]
    at, found = 0.0, list[Phase]()
    while True:
        name, rate = _served(sides, demand)
        found.append(Phase(at, rate, rate * demand.request_bytes, name))
        seconds = min((s.empty_in(rate) for s in sides), default=math.inf)
        if math.isinf(seconds):
            return tuple(found)
        at += seconds
        sides = [_Side(s.name, s.cost, s.allowance, s.after(rate, seconds)) for s in sides]


def seconds_until_empty(
    limits: DiskLimits, demand: Demand, *, fill: float = 1.0, time_scale: float = 1.0
) -> float | None:
    """When the first bucket is empty and the rate falls; None when that never happens."""
    found = phases(limits, demand, fill=fill, time_scale=time_scale)
    return found[1].start_s if len(found) > 1 else None


def charge(limits: DiskLimits, request_bytes: int) -> tuple[float, float]:
    """What one request costs: I/Os (a large one counts as several) and bytes (a small one is
    charged as the least). Requests that the disk would merge are not known here."""
    whole = limits.max_io_bytes
    operations = math.ceil(request_bytes / whole) if whole else 1
    return float(operations), float(max(request_bytes, limits.min_charge_bytes or 0))


def _sides(pool: Pool, limits: DiskLimits, demand: Demand, fill: float) -> list[_Side]:
    operations, size = charge(limits, demand.request_bytes)
    costs: tuple[tuple[LimitedBy, float, Allowance | None], ...] = (
        ("iops", operations, pool.iops),
        # The throughput ceiling itself is about bytes moved; only credits are charged in steps.
        ("bytes", _byte_cost(pool, demand.request_bytes, size), pool.bytes_per_s),
    )
    return [
        _Side(name, cost, allowance, (allowance.capacity or 0.0) * fill)
        for name, cost, allowance in costs
        if allowance is not None
    ]


def _byte_cost(pool: Pool, request_bytes: int, charged_bytes: float) -> float:
    bucketed = pool.bytes_per_s is not None and pool.bytes_per_s.capacity
    return charged_bytes if bucketed else float(request_bytes)


def _served(sides: list[_Side], demand: Demand) -> tuple[LimitedBy, float]:
    tightest = min(sides, key=lambda s: s.rate, default=None)
    if tightest is None or demand.ops_per_s <= tightest.rate:
        return "demand", demand.ops_per_s
    return tightest.name, tightest.rate
