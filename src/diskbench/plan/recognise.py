"""Which disks of a catalogue have a bucket like one that was seen to run out: pure.

A disk is like it where its burst is within 5 % of the level before the fall, its baseline within
10 % of the level after it, and its capacity within 10 % of what was done above that level; our
choice. gp2's baseline is 3 IOPS a GiB, and so tells its size from 33 GiB on; Azure's disks come in
tiers.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from diskbench.catalog.lookup import limits
from diskbench.errors import UserError

_BURST, _OTHERS = 0.05, 0.10
_GP2_PER_GIB = 3.0
_GP2_FLOOR_GIB = 33
_TIERS_GIB = (4, 8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class _Bucket:
    words: str
    burst: float
    baseline: float
    capacity: float


def like(before: float, after: float, spent: float) -> tuple[str, ...]:
    """The disks with such a bucket, as `--as-disk` takes them, from levels in IOPS and the I/Os
    above the lower one until the fall."""
    # Up to 33 GiB all have the same baseline: the largest of them stands for them.
    of_floor = after < _GP2_PER_GIB * (_GP2_FLOOR_GIB + 1)
    size = _GP2_FLOOR_GIB if of_floor else round(after / _GP2_PER_GIB)
    known = (*_tiers(), *_buckets("aws", "gp2", size))
    return tuple(
        one.words
        for one in known
        if abs(before / one.burst - 1) <= _BURST
        and abs(after / one.baseline - 1) <= _OTHERS
        and abs(spent / one.capacity - 1) <= _OTHERS
    )


@functools.cache
def _tiers() -> tuple[_Bucket, ...]:
    return tuple(
        bucket
        for kind in ("Premium_LRS", "StandardSSD_LRS")
        for size in _TIERS_GIB
        for bucket in _buckets("azure", kind, size)
    )


def _buckets(cloud: str, kind: str, size_gib: float) -> list[_Bucket]:
    try:
        found = limits(cloud, kind, size_gib)
    except UserError:
        return []
    return [
        _Bucket(
            f"{cloud}:{kind}:{size_gib:g}",
            pool.iops.ceiling,
            pool.iops.baseline,
            pool.iops.capacity,
        )
        for pool in found.pools
        if pool.iops is not None and pool.iops.capacity and pool.iops.ceiling > pool.iops.baseline
    ]
