"""Which disks of a catalogue have a bucket like one that was seen to run out: pure.

A disk is like it where its burst is within 5 % of the level before the fall, its baseline within
10 % of the level after it, and its capacity within 10 % of what was done above that level; our
choice. Of throughput buckets (st1, sc1) all three are bytes. gp2's baseline is 3 IOPS a GiB, and so
tells its size from 33 GiB on; Azure's disks come in tiers.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from diskbench.catalog.bucket import capacity
from diskbench.catalog.lookup import limits
from diskbench.errors import UserError
from diskbench.units import MIB

_BURST, _OTHERS = 0.05, 0.10
_GP2_PER_GIB = 3.0
_GP2_FLOOR_GIB = 33
_BYTES_PER_TIB = {"st1": 40.0 * MIB, "sc1": 12.0 * MIB}
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
    return tuple(one.words for one in known if _is_like(one, before, after, spent))


def like_bytes(before: float, after: float, spent: float) -> tuple[str, ...]:
    """The same of a bucket of throughput, from bytes a second and the bytes above the lower level.
    Its baseline tells the size of such a disk."""
    known = [
        bucket
        for kind, per_tib in _BYTES_PER_TIB.items()
        for bucket in _buckets("aws", kind, max(125, round(after / per_tib * 1024)))
    ]
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
        for kind in ("Premium_LRS", "StandardSSD_LRS")
        for size in _TIERS_GIB
        for bucket in _buckets("azure", kind, size)
    )


def _buckets(cloud: str, kind: str, size_gib: float) -> list[_Bucket]:
    """The bucket of each pool of a disk: of bytes where a type has those alone, else of I/Os."""
    try:
        found = limits(cloud, kind, size_gib)
    except UserError:
        return []
    allowed = [pool.bytes_per_s if kind in _BYTES_PER_TIB else pool.iops for pool in found.pools]
    return [
        _Bucket(f"{cloud}:{kind}:{size_gib:g}", one.ceiling, one.baseline, held)
        for one in allowed
        if one is not None and (held := capacity(one))
    ]
