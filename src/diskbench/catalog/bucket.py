"""The burst bucket of a limit, and what one request costs that limit: the only arithmetic of both.

A bucket holds C credits and starts full. While a load uses u a second its balance changes by

    dB/dt = baseline - u            within 0 … C; upwards by at most refill_per_s where that is set

and a burst at the rate r lasts C / (r - baseline) from full: 1,862 s for a gp2 of 20 GiB (EC2 User
Guide, general-purpose.md, 2023-05-11). A request of s bytes costs

    I/Os    ceil(s / max_io_bytes)            1 where no such size is documented
    bytes   max(s, min_charge_bytes)          s where none is documented

Plan (catalog/simulate.py), lab (providers/lab/supervisor) and verdict
(plan/expected_afterwards.py) all count with these functions. Standard library only: the lab's
supervisor runs without other packages.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

_NOTHING = 1e-12
"""Less than so much of a bucket's capacity is what rounding leaves of an empty one."""


@dataclass(frozen=True)
class Allowance:
    """A rate per second, and a bucket above it where there is one.

    The bucket starts full, pays for what exceeds `baseline`, refills at `baseline` less what is
    used, and lets the rate rise to `burst` while it is not empty. A burst without `capacity` lasts
    for ever.
    """

    baseline: float
    burst: float | None = None
    capacity: float | None = None

    @property
    def ceiling(self) -> float:
        """The highest rate at any time."""
        return self.baseline if self.burst is None else self.burst


@dataclass(frozen=True)
class IoAccounting:
    """How requests are counted. `max_io_bytes` is the largest that counts as one I/O,
    `min_charge_bytes` the least that one is charged in bytes; None: no such rule.

    `parts_from_bytes` is for a device that cuts large requests before they can be counted
    (`cut_at`): a request from this size on is counted by its bytes, in fractions of one I/O.
    """

    max_io_bytes: int | None = None
    min_charge_bytes: int | None = None
    parts_from_bytes: int | None = None

    def ios(self, request_bytes: float) -> float:
        """What one request costs in I/Os."""
        if not self.max_io_bytes:
            return 1.0
        if self.parts_from_bytes and request_bytes >= self.parts_from_bytes:
            return request_bytes / self.max_io_bytes
        return float(math.ceil(request_bytes / self.max_io_bytes))

    def bytes(self, request_bytes: float) -> float:
        """What one request costs in bytes."""
        if self.parts_from_bytes and request_bytes >= self.parts_from_bytes:
            return float(request_bytes)
        return float(max(request_bytes, self.min_charge_bytes or 0))


NO_RULE = IoAccounting()
"""Where nothing is documented: each request is one I/O of its own size."""
OWN_ACCOUNTING = IoAccounting(max_io_bytes=256 * 1024)
"""For a disk of no catalogue: its IOPS are taken to be of requests up to 256 KiB, which is what
several providers count as one I/O of an SSD. Our choice; `io_kib` says another size."""
LAB_CUT_BYTES = 512 * 1024
"""Where a lab disk cuts requests: 128 pages of 4 KiB, the most that the kernel gives a loop device
in one request whatever their memory is like (block/blk-settings.c, BLK_MAX_SEGMENTS)."""


def cut_at(accounting: IoAccounting, cut_bytes: int) -> IoAccounting:
    """The accounting of a disk on a device that cuts requests at `cut_bytes` or below, and counts
    the parts. A disk without a rule then counts each part; one whose I/O is larger than a part
    counts parts by their bytes."""
    if accounting.max_io_bytes is None:
        return replace(accounting, max_io_bytes=cut_bytes)
    if accounting.max_io_bytes <= cut_bytes:
        return accounting
    return replace(accounting, parts_from_bytes=cut_bytes)


def capacity(allowance: Allowance) -> float:
    """What the bucket holds; 0 where there is none."""
    return (allowance.capacity or 0.0) if allowance.ceiling > allowance.baseline else 0.0


def rate(allowance: Allowance, *, has_credit: bool) -> float:
    """What a limit lets through a second: its burst while there is credit, else its baseline."""
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
    """The balance after `used_per_s` was used for `seconds`: never above the capacity, nor below
    zero by more than `owed`."""
    gained = allowance.baseline - used_per_s
    if gained > 0 and refill_per_s is not None:
        gained = min(gained, refill_per_s)
    most = capacity(allowance)
    left = max(-owed, min(most, balance + gained * seconds))
    return 0.0 if abs(left) <= most * _NOTHING else left


def lasts_s(allowance: Allowance) -> float | None:
    """How many seconds a full bucket bears a full burst; None where there is no bucket."""
    held = capacity(allowance)
    return held / (allowance.ceiling - allowance.baseline) if held else None


def of_duration(baseline: float, burst: float | None, seconds: float) -> Allowance:
    """A bucket that bears its burst for `seconds` from full: capacity = (burst - baseline)
    × seconds. Without a burst above the baseline, or without a time, the plain baseline."""
    if burst is None or burst <= baseline or not seconds:
        return Allowance(baseline)
    return Allowance(baseline, burst, (burst - baseline) * seconds)


def scaled(allowance: Allowance, *, count: int = 1, time_scale: float = 1.0) -> Allowance:
    """The allowance of `count` equal disks together; `time_scale` divides the capacity alone."""
    return Allowance(
        allowance.baseline * count,
        None if allowance.burst is None else allowance.burst * count,
        None if allowance.capacity is None else allowance.capacity * count / time_scale,
    )
