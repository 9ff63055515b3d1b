"""Where the machine caches its disk: the first pass over the data apart from those after: pure.

With a host cache the first pass finds what is not in the cache yet, and each pass after it what the
one before left there; one figure for both would be neither's. What was written before the first
pass may be in the cache already where it keeps writes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.spec import Cell, Step

COLD, WARM = "cold", "warm"


def has_host_cache(cell: Cell) -> bool:
    """Whether the rented disk is to be cached by its machine."""
    cache = cell.rent.text("cache") if cell.rent is not None else None
    return cache is not None and cache.lower() != "none"


def cold_and_warm(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Each measuring step twice, as `NAME-cold` and `NAME-warm`; the others as they are.

    A rate that is a share of a step's is a share of its warm pass, which lasts.
    """
    measured = [step.name for step in steps if step.role == "measure"]
    found: list[Step] = []
    for step in steps:
        job = _of_warm(step.job, measured)
        names = [f"{step.name}-{way}" for way in (COLD, WARM)] if step.name in measured else []
        for name in names or [step.name]:
            index = len(found)
            found.append(step.model_copy(update={"index": index, "name": name, "job": job}))
    return tuple(found)


def _of_warm(job: str, measured: Sequence[str]) -> str:
    for name in measured:
        job = re.sub(rf"(% of {re.escape(name)})(?=\s|$)", rf"\1-{WARM}", job)
    return job
