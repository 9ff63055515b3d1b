"""Whether a rate is one of large blocks, which readers compare by bytes and not by operations."""

from __future__ import annotations

from typing import Literal

from diskbench.units import KIB

LARGE_BLOCK = 64 * KIB
"""From this block size on a rate is shown in MB/s: the verdicts' border between both rates."""
_NEARLY = 0.99
"""Rounded figures, and a file's last block, make the mean block a little smaller; our choice."""


def in_large_blocks(iops: float, bytes_per_s: float) -> bool:
    """Whether the mean block of a rate is large; False where one of the figures is 0."""
    return bool(iops and bytes_per_s) and bytes_per_s / iops >= LARGE_BLOCK * _NEARLY


def rate_metric(iops: float | None, bytes_per_s: float | None) -> Literal["iops", "bytes_per_s"]:
    """By which of its two figures a rate is shown: bytes for large blocks, else operations."""
    return "bytes_per_s" if in_large_blocks(iops or 0.0, bytes_per_s or 0.0) else "iops"
