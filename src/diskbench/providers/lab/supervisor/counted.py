"""The charge for a device's counted operations, from their number and bytes alone.

A lab disk splits requests (catalog/bucket.py, `cut_at`), so the kernel counts parts. Parts
no larger than one charged I/O are counted as a cloud counts: ceil(s / max_io_bytes) of a request of
s bytes. Where one I/O is larger than a part (st1, sc1: 1 MiB), whole parts are charged by their
bytes: two halves of a request of 1 MiB cost 1 MiB together, and not 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diskbench.catalog.bucket import IoAccounting

MOSTLY_WHOLE = 0.9
"""From this share of a part on in the mean, the operations are taken to be whole parts with a few
small ones between them (a journal's), below it for requests of one size; our choice."""


@dataclass(frozen=True)
class Cost:
    """The mean charge of one operation in I/Os and bytes, and its real size in bytes."""

    ios: float
    bytes: float
    size: float


SMALL = Cost(ios=1.0, bytes=0.0, size=0.0)
"""The cost of one operation without bytes, where no rule is known."""


def cost_of(accounting: IoAccounting, ops: int, moved_bytes: int) -> Cost:
    """The mean cost of `ops` operations that moved that many bytes together; without operations,
    the cost of a small one."""
    mean = moved_bytes / ops if ops else 0.0
    part = accounting.parts_from_bytes
    if part is None or mean < MOSTLY_WHOLE * part:
        # Not rounded up: bytes may be counted slightly before their operation.
        whole_io = accounting.max_io_bytes
        ios = max(1.0, mean / whole_io) if whole_io else 1.0
        return Cost(ios, accounting.bytes(mean), mean)
    whole_share = min(1.0, mean / part)
    ios = mean / part * accounting.ios(part) + (1 - whole_share)
    return Cost(ios, mean + (1 - whole_share) * accounting.bytes(0), mean)
