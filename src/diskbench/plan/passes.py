"""With a host cache: measure the first pass over the data apart from the later ones. Pure.

With a host cache the first pass reads data that is not cached yet, and each later pass reads what
the pass before left in the cache; one figure for both would be true of neither. Data written before
the first pass may already be cached if the cache keeps writes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.spec import Step

COLD, WARM = "cold", "warm"


def cold_and_warm(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return each measuring step twice, as `NAME-cold` and `NAME-warm`, and the others unchanged.

    A rate given as a share of a step's rate refers to its warm pass, which is the lasting one.
    """
    measured = [step.name for step in steps if step.role == "measure"]
    passes: list[Step] = []
    for step in steps:
        job = _of_warm(step.job, measured)
        names = [f"{step.name}-{way}" for way in (COLD, WARM)] if step.name in measured else []
        for name in names or [step.name]:
            index = len(passes)
            passes.append(step.model_copy(update={"index": index, "name": name, "job": job}))
    return tuple(passes)


def _of_warm(job: str, measured: Sequence[str]) -> str:
    for name in measured:
        job = re.sub(rf"(% of {re.escape(name)})(?=\s|$)", rf"\1-{WARM}", job)
    return job
