"""How a disk with a burst bucket behaves under a steady demand: when it empties, what is left.

The bucket B holds C credits and starts full. Under a demand that is served at rate r its balance
changes by b - r a second (b the baseline), so a burst at r > b lasts

    t = C / (r - b)

and the rate is b from then on. Source: AWS EC2 User Guide, general-purpose.md (2023-05-11): a
gp2 volume of 20 GiB has C = 5,400,000, r = 3,000, b = 100: 1,862 s. IOPS and bytes have buckets
of their own where the cloud says so (Azure), and whichever is tighter limits the rate. Several
demands after each other, and machines with buckets of their own, are catalog/simulate.py's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from diskbench.catalog.gate import disk_gates
from diskbench.catalog.path import Path
from diskbench.catalog.simulate import Stage, simulate
from diskbench.model.expectation import Load

if TYPE_CHECKING:
    from diskbench.catalog.lookup import DiskLimits
    from diskbench.model.expectation import LimitName

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


def phases(
    limits: DiskLimits, demand: Demand, *, fill: float = 1.0, time_scale: float = 1.0
) -> tuple[Phase, ...]:
    """What the disk will serve, from now on. A disk without known limits serves the demand.

    `fill` is how full the buckets are (1 is full); `time_scale` divides their capacity.
    """
    path = Path(disk_gates(limits, time_scale=time_scale))
    asked = demand.ops_per_s
    load = Load(
        block_bytes=demand.request_bytes,
        read_share=1.0 if demand.direction == "read" else 0.0,
        max_per_s=None if math.isinf(asked) else asked,
    )
    credit = [balance * fill for balance in path.full()]
    legs = simulate(path, [Stage(load)], credit=credit).legs
    if not legs:
        return (Phase(0.0, asked, asked * demand.request_bytes, "demand"),)
    return tuple(
        Phase(leg.start_s, leg.iops, leg.bytes_per_s, _named(leg.limited_by)) for leg in legs
    )


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


def _named(limit: LimitName | None) -> LimitedBy:
    if limit == "disk-iops":
        return "iops"
    return "bytes" if limit == "disk-throughput" else "demand"
