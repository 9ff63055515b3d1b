"""How long a load must run until a disk's burst credit is used up (MR-3): pure.

    drain = 1.2 · max over the disk's buckets of C / (R_burst − R_base)

with capacities divided by the lab's time scale. 1.2 is MR-3's.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from diskbench.plan.time_scale import scaled_bursts_s

if TYPE_CHECKING:
    from diskbench.model.rental import Rental

BEYOND = 1.2


def drain_s(rental: Rental | None) -> int | None:
    """Return whole seconds; None if the disk is in no catalogue or has no bucket."""
    bursts = scaled_bursts_s(rental) if rental is not None else []
    return math.ceil(BEYOND * max(bursts)) if bursts else None
