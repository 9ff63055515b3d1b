"""The requests that a job's blocks become on the way to the disk. Every prediction needs them,
since a cloud counts requests and not blocks.

    direct            one request per block
    buffered, random  one request per block, of whole pages (4 KiB)
    buffered, in sequence, written   requests of `WRITEBACK_BYTES`, several blocks together
    buffered, in sequence, read      requests of the read-ahead, several blocks together

Checked against a measurement: cunnie/cloud_storage_benchmarks (2018-04-15), gp2 of 20 GiB without
credit reached 108 IOPS, 28.2 MB/s written (256 KiB each) and 13 MB/s read (128 KiB each).

A cloud may merge sequential requests that the guest did not: one "attempts to merge" small requests
that are physically sequential (EC2 User Guide, "I/O characteristics", 2023-01-19). It did not merge
the reads of 2018; so merging is the best case and is not assumed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from diskbench.model.expectation import Issued
from diskbench.units import KIB

if TYPE_CHECKING:
    from diskbench.model.expectation import Load

Case = Literal["least", "assumed", "best"]
"""Which of the plausible request sizes (and latencies, and cache hits) is meant."""

PAGE_BYTES = 4 * KIB
WRITEBACK_BYTES = 256 * KIB
"""What the page cache writes at once, as measured in 2018 (above)."""
LEAST_MERGED_BYTES = 128 * KIB
"""The smallest request that sequential work through the page cache is taken to make: the kernel's
read-ahead unless it is set (Documentation/block/queue-sysfs.rst, read_ahead_kb); our choice for
writes."""


def issued(
    load: Load, way: Literal["read", "write"], case: Case, *, merges_to: int | None = None
) -> Issued:
    """What blocks of one direction become. `merges_to` is the largest request that the cloud makes
    of several in sequence; None where it says nothing of merging."""
    block = load.block_bytes
    if load.direct is None:
        return Issued(request_bytes=block, per_block=1.0)  # nothing says what would merge it
    if load.random:
        size = block if load.direct else math.ceil(block / PAGE_BYTES) * PAGE_BYTES
        return Issued(request_bytes=size, per_block=1.0)
    if load.direct:
        # One request alone in the queue has no other to be merged with.
        merged = case == "best" and merges_to is not None and (load.depth is None or load.depth > 1)
        size = max(block, merges_to or 0) if merged else block
        return Issued(request_bytes=size, per_block=block / size)
    size = WRITEBACK_BYTES if way == "write" else max(load.read_ahead_bytes, PAGE_BYTES)
    if case == "least":
        size = min(size, LEAST_MERGED_BYTES)
    elif case == "best":
        size = max(size, WRITEBACK_BYTES, merges_to or 0)
    return Issued(request_bytes=size, per_block=block / size)
