"""Which figure stands for a run in a list, and for the runs of a trial: pure.

step    of the steps that measure: random before sequential, small blocks before large ones,
        then the one with the highest rate. Small random I/O is what disks are bought and
        limited by (our choice); the highest rate is the one nearest to a limit
trial   the headline in the middle of its runs at the baseline where some are, else of all
        (MR-3, MR-5), with the worst trust of all its runs
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from diskbench.analysis.worst_trust import worst

if TYPE_CHECKING:
    from diskbench.model.run import Headline, ListedStep

_UNKNOWN_BLOCK = 1 << 62


def headline_step(loads: Sequence[ListedStep]) -> ListedStep | None:
    """Return the step that stands for a run; of equal ones the first. None without a step."""
    return max(loads, key=_weight, default=None)


def of_trial(headlines: Sequence[Headline]) -> Headline | None:
    """Return the headline of a trial from those of its runs, the newest first; None without any. It
    has a trust only where each of these runs was judged."""
    if not headlines:
        return None
    alike = [headline for headline in headlines if headline.step == headlines[0].step]
    of_level = [headline for headline in alike if headline.kind == "baseline"] or alike
    middle = sorted(of_level, key=lambda headline: headline.rate)[(len(of_level) - 1) // 2]
    known = [headline.trust for headline in alike if headline.trust is not None]
    return replace(middle, trust=worst(known) if len(known) == len(alike) else None)


def _weight(load: ListedStep) -> tuple[bool, int, float]:
    rate = load.iops if load.iops is not None else load.bytes_per_s
    return load.is_random, -(load.block_bytes or _UNKNOWN_BLOCK), rate or 0.0
