"""The kernel's own limits on a block device, and its counters. Standard library only.

With cgroup v1 the limits are set in the root group: kernel threads write back buffered writes,
and would escape the limits of any other group. cgroup v2 charges writeback to the writer and has
no limits in its root, so they are set in the host's own group.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SECTOR_BYTES = 512
"""/sys/block/*/stat counts in sectors of 512 bytes (Documentation/block/stat.rst)."""


@dataclass(frozen=True)
class ThrottleLimits:
    """A device's limits per second; None is no limit."""

    read_iops: int | None = None
    write_iops: int | None = None
    read_bps: int | None = None
    write_bps: int | None = None


@dataclass(frozen=True)
class Counters:
    """A device's counters since its creation."""

    read_ops: int
    read_bytes: int
    write_ops: int
    write_bytes: int


NO_LIMITS = ThrottleLimits()


def write_limits(version: int, directory: str, number: str, limits: ThrottleLimits) -> None:
    """Limit the device MAJOR:MINOR in the group `directory`. Raises OSError when it is gone."""
    if version == 2:
        Path(directory, "io.max").write_text(io_max(number, limits), "ascii")
        return
    for what, value in (
        ("read_iops", limits.read_iops),
        ("write_iops", limits.write_iops),
        ("read_bps", limits.read_bps),
        ("write_bps", limits.write_bps),
    ):
        Path(directory, f"blkio.throttle.{what}_device").write_text(
            f"{number} {value or 0}", "ascii"
        )


def io_max(number: str, limits: ThrottleLimits) -> str:
    """The line for cgroup v2's io.max."""
    return (
        f"{number} rbps={limits.read_bps or 'max'} wbps={limits.write_bps or 'max'} "
        f"riops={limits.read_iops or 'max'} wiops={limits.write_iops or 'max'}"
    )


def read_counters(kernel_name: str) -> Counters:
    """The counters of a device such as `loop3`. Raises OSError when it is gone."""
    fields = Path("/sys/block", kernel_name, "stat").read_text("ascii").split()
    reads, read_sectors, writes, written_sectors = (int(fields[i]) for i in (0, 2, 4, 6))
    return Counters(reads, read_sectors * SECTOR_BYTES, writes, written_sectors * SECTOR_BYTES)
