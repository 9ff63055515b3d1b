"""What a cloud promises for a disk, in one line for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.catalog.limits.bucket import lasts_s, scaled
from diskbench.units import format_duration_s, format_iops, format_mb_per_s

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.catalog.limits.bucket import Allowance
    from diskbench.catalog.limits.lookup import DiskLimits, SharedLimits


def promise(limits: DiskLimits, time_scale: float = 1.0) -> str:
    """`100 IOPS, bursts to 3,000 for 31 min; 134 MB/s`, or "" where the catalogue knows no figure.

    The time is that of a full burst from a full bucket, C / (burst - baseline)
    (catalog/limits/bucket.py), divided by `time_scale`. Limits that reads and writes have apart
    are named so.
    """
    return "; ".join(part for pool in limits.pools for part in _of_pool(pool, time_scale))


def _of_pool(pool: SharedLimits, time_scale: float) -> list[str]:
    kind = "" if pool.covers == "both" else f" {pool.covers}"
    return [
        _words(allowance, shown, time_scale) + kind
        for allowance, shown in (
            (pool.iops, lambda iops: f"{format_iops(iops)} IOPS"),
            (pool.bytes_per_s, lambda rate: f"{format_mb_per_s(rate)} MB/s"),
        )
        if allowance is not None
    ]


def _words(allowance: Allowance, shown: Callable[[float], str], time_scale: float) -> str:
    words = shown(allowance.baseline)
    if allowance.ceiling <= allowance.baseline:
        return words
    words += f", bursts to {shown(allowance.ceiling).rpartition(' ')[0]}"
    seconds = lasts_s(scaled(allowance, time_scale=time_scale))
    return f"{words} for {format_duration_s(seconds)}" if seconds else words
