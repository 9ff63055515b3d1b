"""The arithmetic of a limit's burst bucket and of what one request costs the limit (docs/METHOD.md,
"Credit" and "What a run should measure").

Standard library only: the lab's supervisor (providers/lab/supervisor) runs without other packages.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

_NOTHING = 1e-12
"""A balance below this fraction of the capacity is a rounding error: the bucket is empty."""
Covers = Literal["both", "read", "write"]


@dataclass(frozen=True)
class Allowance:
    """A rate per second, with an optional burst bucket.

    The bucket starts full, is charged with usage above `baseline`, refills at `baseline` minus
    usage, and allows rates up to `burst` while it is not empty. A burst without `capacity` never
    ends. `least` and `most` are given where an average with a range is documented and no limit.
    """

    baseline: float
    burst: float | None = None
    capacity: float | None = None
    least: float | None = None
    most: float | None = None

    @property
    def is_range(self) -> bool:
        """Whether a range is documented instead of a limit."""
        return self.least is not None or self.most is not None

    @property
    def ceiling(self) -> float:
        """The highest rate at any time, per second."""
        return self.baseline if self.burst is None else self.burst


@dataclass(frozen=True)
class SharedLimits:
    """Limits that reads, writes, or both together share. None is no limit."""

    covers: Covers
    iops: Allowance | None = None
    bytes_per_s: Allowance | None = None


@dataclass(frozen=True)
class IoAccounting:
    """How requests are counted. `max_io_bytes` is the largest request that counts as one I/O,
    `min_charge_bytes` the least number of bytes charged for one; None: no such rule.

    `parts_from_bytes` is for a device that splits large requests before they are counted
    (`cut_at`): requests of at least this size count by their bytes, in fractions of one I/O.
    """

    max_io_bytes: int | None = None
    min_charge_bytes: int | None = None
    parts_from_bytes: int | None = None

    def ios(self, request_bytes: float) -> float:
        """Return the cost of one request in I/Os."""
        if not self.max_io_bytes:
            return 1.0
        if self.parts_from_bytes and request_bytes >= self.parts_from_bytes:
            return request_bytes / self.max_io_bytes
        return float(math.ceil(request_bytes / self.max_io_bytes))

    def bytes(self, request_bytes: float) -> float:
        """Return the cost of one request in bytes."""
        if self.parts_from_bytes and request_bytes >= self.parts_from_bytes:
            return float(request_bytes)
        return float(max(request_bytes, self.min_charge_bytes or 0))


NO_RULE = IoAccounting()
"""The rule if nothing is documented: each request is one I/O of its own size."""
OWN_ACCOUNTING = IoAccounting(max_io_bytes=256 * 1024)
"""For a disk in no catalogue: its IOPS are assumed to be of requests up to 256 KiB, which several
providers count as one I/O of an SSD. Our choice; `io_kib` sets another size."""
LAB_CUT_BYTES = 512 * 1024
"""Where a lab disk cuts requests: 128 pages of 4 KiB, the most that the kernel gives a loop device
in one request whatever their memory is like (block/blk-settings.c, BLK_MAX_SEGMENTS)."""


def cut_at(accounting: IoAccounting, cut_bytes: int) -> IoAccounting:
    """Return the accounting of a disk on a device that splits requests into at most `cut_bytes` and
    counts the parts. A disk without a rule then counts each part; a disk whose I/O unit is larger
    than a part counts parts by their bytes."""
    if accounting.max_io_bytes is None:
        return replace(accounting, max_io_bytes=cut_bytes)
    is_larger = accounting.max_io_bytes > cut_bytes
    return replace(accounting, parts_from_bytes=cut_bytes) if is_larger else accounting


def capacity(allowance: Allowance) -> float:
    """Return the capacity of the bucket; 0 if there is none."""
    return (allowance.capacity or 0.0) if allowance.ceiling > allowance.baseline else 0.0


def rate(allowance: Allowance, *, has_credit: bool) -> float:
    """Return the rate that a limit allows per second: its burst with credit, else its baseline."""
    is_empty = allowance.capacity is not None and not has_credit
    return allowance.baseline if is_empty else allowance.ceiling


def balance_after(
    allowance: Allowance,
    balance: float,
    used_per_s: float,
    seconds: float,
    *,
    refill_per_s: float | None = None,
    owed: float = 0.0,
) -> float:
    """Return the balance after a usage of `used_per_s` for `seconds`, between -`owed` and the
    capacity."""
    gained = allowance.baseline - used_per_s
    if gained > 0 and refill_per_s is not None:
        gained = min(gained, refill_per_s)
    most = capacity(allowance)
    tokens = max(-owed, min(most, balance + gained * seconds))
    return 0.0 if abs(tokens) <= most * _NOTHING else tokens


def lasts_s(allowance: Allowance) -> float | None:
    """Return how many seconds a full bucket sustains a full burst; None if there is no bucket."""
    held = capacity(allowance)
    return held / (allowance.ceiling - allowance.baseline) if held else None


def of_duration(baseline: float, burst: float | None, seconds: float) -> Allowance:
    """Return a bucket that sustains its burst for `seconds` from full: capacity = (burst -
    baseline) × seconds; the plain baseline if the burst does not exceed it or the time is 0."""
    if burst is None or burst <= baseline or not seconds:
        return Allowance(baseline)
    return Allowance(baseline, burst, (burst - baseline) * seconds)


def scaled(allowance: Allowance, *, count: int = 1, time_scale: float = 1.0) -> Allowance:
    """Return the joint allowance of `count` equal disks; `time_scale` divides only the capacity."""
    of_all = {name: value and value * count for name, value in vars(allowance).items()}
    held = of_all["capacity"]
    return Allowance(**{**of_all, "capacity": held and held / time_scale})
