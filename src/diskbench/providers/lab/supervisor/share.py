"""One limit shared by several streams, though the kernel limits each separately.

A cloud counts reads and writes of a disk, and all disks of a machine, against one limit. The kernel
has a limit for each device and direction, so the common one is divided by how much each uses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeVar

Name = TypeVar("Name")

FLOOR = 0.05
"""The part of the limit that a stream which uses nothing may begin with; our choice."""
STEP = 0.25
"""Unused limit of other streams is given in steps of this part of the limit: following each ripple
would make the kernel begin anew each tick, and let through more than the limit. Our choice."""
IDLE = 0.02
"""Below this part of the whole use a stream counts as using nothing; our choice."""
SLACK = 1.02
"""Streams that divide a limit get this multiple of it together: their parts ripple, and a stream
that reaches its part would slow the other. Our choice."""
MEMORY = 0.05
"""Weight of the newest tick in the use that is remembered: about two seconds' worth; our choice."""

JUMP, QUICK = 0.4, 0.3
"""A tick that differs by more than JUMP of what is remembered is another load, and weighs QUICK;
a tick of a few dozen operations ripples by half of that. Our choice."""


def share(limit: float, used: Mapping[Name, float]) -> dict[Name, float]:
    """The limit of each stream, from the recent use of all.

    Each gets its part of the limit in proportion to its use, or all that the others leave,
    whichever is more: a single stream has the whole limit, several busy streams divide it.
    """
    total = sum(used.values())
    active = {name: use if use > IDLE * total else 0.0 for name, use in used.items()}
    total = sum(active.values())
    return {name: _stream_limit(limit, use, total) for name, use in active.items()}


def _stream_limit(limit: float, use: float, total: float) -> float:
    if math.isinf(limit) or total <= use:
        return limit
    in_proportion = limit * SLACK * use / total
    left_over = math.floor((1 - (total - use) / limit) / STEP) * STEP * limit
    return min(limit, max(in_proportion, left_over, limit * FLOOR))


def remembered(before: float, now: float) -> float:
    """The recent use: the newest tick has the weight MEMORY, or QUICK where the use itself
    changed."""
    weight = QUICK if abs(now - before) > JUMP * before else MEMORY
    return before + weight * (now - before)
