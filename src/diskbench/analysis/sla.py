"""The highest rate at which a latency keeps to a target: the search for it, and its result. Pure.

Probes offer a share of the capacity that an earlier step reached, in the open loop. Each keeps to
the target or does not; a saturated probe does not, whatever its latency. The share is halved
between the highest that did and the lowest that did not,

    next = (low + high) / 2,  low = 0 and high = 1 at first

(high = lasting / capacity where burst credit is documented, for what credit there is regained
while a probe offers little would carry a short one above the rate that lasts)

until high - low <= precision × high, or high <= precision where nothing kept to it. A percentile
q is judged by probes of at least

    n = beyond / (1 - q)      100 I/Os beyond it: 10,000 for p99, 100,000 for p99.9

so that the share of I/Os above the target has a relative error of 10 %; `beyond` is our choice.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from diskbench.model.result import Measurement
from diskbench.model.spec import Search
from diskbench.model.threshold import COLUMN_OF, Threshold


@dataclass(frozen=True)
class Sla:
    """The result of one run: the highest offered rate that kept to the target, 0 where none did,
    and the lowest that did not; None where all did. `probes` is how many there were."""

    iops: float
    missed_iops: float | None
    probes: int


def needed_ios(target: Threshold, beyond: int) -> int:
    """How many I/Os a probe must do for its percentile."""
    return round(beyond / (1 - (target.share or 0.99)))


def next_share(search: Search, kept: Sequence[bool], capacity: float) -> float | None:
    """The share of the capacity (in IOPS) that the next probe offers, after those that `kept` to
    the target or did not; None where the search has ended."""
    lasting = search.lasting_iops or capacity
    low, high = 0.0, min(1.0, lasting / capacity) if capacity else 1.0
    for did in kept:
        middle = (low + high) / 2
        low, high = (middle, high) if did else (low, middle)
    ended = high - low <= search.precision * (high if low else 1.0)
    return None if ended else (low + high) / 2


def keeps(target: Threshold, rows: Iterable[Measurement]) -> bool:
    """Whether the merged rows of a step keep to a target, in each direction that it is about. A
    percentile that too few I/Os stand behind does not."""
    asked = [
        getattr(row, COLUMN_OF[target.metric])
        for row in rows
        if row.direction != "sync" and target.direction in (None, row.direction) and row.ios
    ]
    return bool(asked) and all(ns is not None and target.holds(ns) for ns in asked)


def sla_of(
    search: Search, rows: Iterable[Measurement], saturated: Collection[str] = ()
) -> Sla | None:
    """The result of one run from its rows; None where it has no probe."""
    of_step: dict[str, list[Measurement]] = {}
    for row in rows:
        if row.scope == "step" and row.direction != "sync":
            of_step.setdefault(row.step, []).append(row)
    capacity = sum(row.iops or 0.0 for row in of_step.get(search.capacity, ()))
    rates: dict[bool, list[float]] = {True: [], False: []}
    kept: list[bool] = []
    for step in (step for step in search.steps if step in of_step):
        share, found = next_share(search, kept, capacity), of_step[step]
        kept.append(step not in saturated and keeps(search.target, found))
        reached = sum(row.iops or 0.0 for row in found)
        rates[kept[-1]].append((share or 0.0) * capacity or reached)
    if not kept:
        return None
    return Sla(max(rates[True], default=0.0), min(rates[False], default=None), len(kept))
