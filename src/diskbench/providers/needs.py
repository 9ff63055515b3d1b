"""The figures that a machine must sustain so that the disk limits the measurement: pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diskbench.catalog.lookup import DiskLimits

MARGIN = 1.2
"""Headroom above the disk's ceiling, so that the disk and not the machine is the limit."""
MIN_VCPUS = 2
"""One CPU for fio and one for everything else; our choice."""


@dataclass(frozen=True)
class Needs:
    """The IOPS and MB/s (10^6 bytes per second) that the machine must sustain."""

    iops: float
    mb_per_s: float


def needs(limits: DiskLimits | None, count: int = 1) -> Needs:
    """MARGIN times the ceiling of `count` disks together; zero for disks without limits.

    Separate limits of reads and writes add up, as both can be used at the same time.
    """
    pools = limits.pools if limits else ()
    iops = sum(pool.iops.ceiling for pool in pools if pool.iops)
    bytes_per_s = sum(pool.bytes_per_s.ceiling for pool in pools if pool.bytes_per_s)
    return Needs(MARGIN * count * iops, MARGIN * count * bytes_per_s / 1e6)
