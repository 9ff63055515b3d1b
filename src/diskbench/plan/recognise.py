"""Which catalogue disks have a bucket like one that was measured to run empty: pure.

A disk matches if its burst is within 5 % of the level before the fall, its baseline within 10 % of
the level after it, and its capacity within 10 % of the work done above that level; our choice. For
throughput buckets all three are in bytes. Where the baseline grows with the size it determines the
size, except among the sizes that share the lowest baseline. A disk that is sold in tiers is
compared tier by tier.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from diskbench.catalog.bucket import capacity
from diskbench.catalog.entry import DiskEntry, catalogue, clouds
from diskbench.catalog.lookup import limits
from diskbench.catalog.sourced_figures import GIB_PER_TIB, Quantity
from diskbench.errors import UserError

_BURST, _OTHERS = 0.05, 0.10
_Counts = Literal["ios", "bytes"]


@dataclass(frozen=True)
class _Bucket:
    words: str
    burst: float
    baseline: float
    capacity: float


def like(before: float, after: float, spent: float) -> tuple[str, ...]:
    """Return the disks with such a bucket, as `--as-disk` accepts them. `before` and `after` are
    IOPS; `spent` are the I/Os above `after` until the fall."""
    known = (*_tiers(), *_by_size(after, "ios"))
    return tuple(bucket.words for bucket in known if _is_like(bucket, before, after, spent))


def like_bytes(before: float, after: float, spent: float) -> tuple[str, ...]:
    """The same for a throughput bucket: `before` and `after` in bytes per second, `spent` in
    bytes above `after`."""
    known = _by_size(after, "bytes")
    return tuple(bucket.words for bucket in known if _is_like(bucket, before, after, spent))


def _is_like(bucket: _Bucket, before: float, after: float, spent: float) -> bool:
    return (
        abs(before / bucket.burst - 1) <= _BURST
        and abs(after / bucket.baseline - 1) <= _OTHERS
        and abs(spent / bucket.capacity - 1) <= _OTHERS
    )


@functools.cache
def _tiers() -> tuple[_Bucket, ...]:
    return tuple(
        bucket
        for cloud in clouds()
        for name, entry in catalogue(cloud).disks.items()
        if entry.tiers is not None
        for row in entry.tiers.rows
        for bucket in _buckets(cloud, name, row.gib, "ios")
    )


def _by_size(after: float, counts: _Counts) -> Iterator[_Bucket]:
    """Yield the bucket of each type with a burst of I/Os (or of bytes), at the size whose baseline
    is `after`."""
    for cloud in clouds():
        for name, entry in catalogue(cloud).disks.items():
            burst = entry.iops_burst if counts == "ios" else entry.throughput_burst
            baseline = entry.iops if counts == "ios" else entry.throughput
            if burst is not None and baseline is not None:
                yield from _buckets(cloud, name, _size_gib(entry, baseline, after), counts)


def _size_gib(entry: DiskEntry, baseline: Quantity, after: float) -> int:
    """Return the size whose baseline is `after`. Of the sizes that share the lowest baseline it is
    the largest; it is never less than the smallest size sold."""
    per_gib = (baseline.per_gib + baseline.per_tib / GIB_PER_TIB) * baseline.unit_bytes
    least = (baseline.min or 0.0) * baseline.unit_bytes
    smallest = entry.size_gib.min if entry.size_gib else 1
    if not per_gib:
        return smallest
    alike = int(least / per_gib)
    return max(smallest, alike if after < per_gib * (alike + 1) else round(after / per_gib))


def _buckets(cloud: str, kind: str, size_gib: float, counts: _Counts) -> list[_Bucket]:
    """Return the bucket of each pool of a disk, in I/Os or in bytes."""
    try:
        disk_limits = limits(cloud, kind, size_gib)
    except UserError:
        return []
    allowed = [pool.iops if counts == "ios" else pool.bytes_per_s for pool in disk_limits.pools]
    return [
        _Bucket(f"{cloud}:{kind}:{size_gib:g}", allowance.ceiling, allowance.baseline, held)
        for allowance in allowed
        if allowance is not None and (held := capacity(allowance))
    ]
