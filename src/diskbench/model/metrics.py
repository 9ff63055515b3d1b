"""What a cloud's own monitoring counted of the machine and the disks of a run, and what it says of
the limits that a step met.

A cloud keeps one value a period (mostly a minute) of each of its metrics. Only periods that lie
wholly within a step say something of it: what a period at its edge counted may be of other work.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import Field

from diskbench.model.base import Frozen
from diskbench.model.expectation import LimitName

METRICS = "metrics.json"
"""The record of a run, beside its manifest."""


class CloudMetric(Frozen):
    """One series of a cloud's monitoring, under the cloud's own `name`, of the resource `of`.

    `points` are the Unix times at which periods begin, and their values. A period whose value is
    `reached_at` or more is one in which the load was at `limit` (both None for a metric that is
    only kept as evidence).
    """

    name: str
    of: str
    statistic: str
    period_s: int = Field(ge=1)
    limit: LimitName | None = None
    reached_at: float | None = None
    points: tuple[tuple[int, float], ...] = ()


class CloudMetrics(Frozen):
    """`metrics.json`: the series that were there when the cloud was last asked."""

    read_at: str
    metrics: tuple[CloudMetric, ...]


@dataclass(frozen=True, slots=True)
class Exceeded:
    """The seconds of a step for which more was asked than each limit allows, by the cloud's own
    counters. They saw `counted_s` of its seconds; None: all of them."""

    seconds: Mapping[LimitName, float]
    counted_s: float | None = None


def covers(metrics: Iterable[CloudMetric], until: float) -> bool:
    """Whether every series of a limit that has points has the last whole period before the Unix
    time `until`, so that waiting brings no more; False where none has any. Others may come less
    often than they are asked for."""
    told = [metric for metric in metrics if metric.points and metric.limit is not None]
    newest = [max(begin for begin, _ in of.points) + 2 * of.period_s for of in told]
    return bool(newest) and min(newest) > until


def exceeded_within(
    metrics: Iterable[CloudMetric], started: float, finished: float
) -> Exceeded | None:
    """What the metrics say of a step between two Unix times; None where no whole period of any
    limit lies in it. A period in which any disk was at a limit counts for the step."""
    counted: dict[LimitName, dict[int, float]] = {}
    reached: dict[LimitName, dict[int, float]] = {}
    for metric in metrics:
        if metric.limit is None or metric.reached_at is None:
            continue
        for begin, value in metric.points:
            if started <= begin and begin + metric.period_s <= finished:
                counted.setdefault(metric.limit, {})[begin] = metric.period_s
                if value >= metric.reached_at:
                    reached.setdefault(metric.limit, {})[begin] = metric.period_s
    if not counted:
        return None
    seconds = {limit: float(sum(reached.get(limit, {}).values())) for limit in counted}
    return Exceeded(seconds, float(min(sum(periods.values()) for periods in counted.values())))
