"""What fio's JSON counts for a whole step: what the seconds of its logs must sum up to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diskbench.fio.reported import FioOutput
    from diskbench.model.result import Direction


@dataclass(frozen=True, slots=True)
class Total:
    """What fio's JSON counts for one direction of a step: what a series must sum up to."""

    ios: int
    bytes: int
    runtime_s: float


def totals_of(output: FioOutput) -> dict[Direction, Total]:
    """The totals that the series of a step must sum up to (jobs of a step run in parallel)."""
    totals: dict[Direction, Total] = {}
    for job in output.jobs:
        for direction, stats in job.directions.items():
            before = totals.get(direction, Total(0, 0, 0.0))
            totals[direction] = Total(
                ios=before.ios + stats.ios,
                bytes=before.bytes + stats.bytes,
                runtime_s=max(before.runtime_s, stats.runtime_ns / 1e9),
            )
    return totals
