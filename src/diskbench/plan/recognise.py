"""Which disks of a catalogue have a bucket like one that was seen to run out: pure.

A disk is like it where its burst is within 5 % of the level before the fall, its baseline within
10 % of the level after it, and its capacity within 10 % of what was done above that level; our
choice. Of throughput buckets all three are bytes. Where a baseline grows with the size it tells the
size, above the sizes that share the least one; a disk that is sold in tiers is compared tier by
tier.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from diskbench.catalog.bucket import capacity
from diskbench.catalog.entry import GIB_PER_TIB, catalogue, clouds
from diskbench.catalog.lookup import limits
from diskbench.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.catalog.entry import DiskEntry, Quantity

_BURST, _OTHERS = 0.05, 0.10
_Counts = Literal["ios", "bytes"]


@dataclass(frozen=True)
class _Bucket:
    words: str
    burst: float
    baseline: float
    capacity: float


def like(before: float, after: float, spent: float) -> tuple[str, ...]:
    """The disks with such a bucket, as `--as-disk` takes them, from levels in IOPS and the I/Os
    above the lower one until the fall."""
    known = (*_tiers(), *_by_size(after, "ios"))
    return tuple(one.words for one in known if _is_like(one, before, after, spent))


def like_bytes(before: float, after: float, spent: float) -> tuple[str, ...]:
    """The same of a bucket of throughput, from bytes a second and the bytes above the lower
    level."""
    known = _by_size(after, "bytes")
    return tuple(one.words for one in known if _is_like(one, before, after, spent))


def _is_like(one: _Bucket, before: float, after: float, spent: float) -> bool:
    return (
        abs(before / one.burst - 1) <= _BURST
        and abs(after / one.baseline - 1) <= _OTHERS
        and abs(spent / one.capacity - 1) <= _OTHERS
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
    """The bucket of each type whose burst is of I/Os, or of bytes, in the size whose baseline is
    `after`."""
    for cloud in clouds():
        for name, entry in catalogue(cloud).disks.items():
            burst = entry.iops_burst if counts == "ios" else entry.throughput_burst
            baseline = entry.iops if counts == "ios" else entry.throughput
            if burst is not None and baseline is not None:
                yield from _buckets(cloud, name, _size_gib(entry, baseline, after), counts)


def _size_gib(entry: DiskEntry, baseline: Quantity, after: float) -> int:
    """The size whose baseline is `after`. The largest of those with the least baseline stands for
    them, and the least size that is sold for smaller ones."""
    per_gib = (baseline.per_gib + baseline.per_tib / GIB_PER_TIB) * baseline.unit_bytes
    least = (baseline.min or 0.0) * baseline.unit_bytes
    smallest = entry.size_gib.min if entry.size_gib else 1
    if not per_gib:
        return smallest
    alike = int(least / per_gib)
    return max(smallest, alike if after < per_gib * (alike + 1) else round(after / per_gib))


def _buckets(cloud: str, kind: str, size_gib: float, counts: _Counts) -> list[_Bucket]:
    """The bucket of each pool of a disk, of I/Os or of bytes."""
    try:
        found = limits(cloud, kind, size_gib)
    except UserError:
        return []
    allowed = [pool.iops if counts == "ios" else pool.bytes_per_s for pool in found.pools]
    return [
        _Bucket(f"{cloud}:{kind}:{size_gib:g}", one.ceiling, one.baseline, held)
        for one in allowed
        if one is not None and (held := capacity(one))
    ]
