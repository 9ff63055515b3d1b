"""What was measured again and again, and where its level changed (MR-15)."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from diskbench.analysis.drift import drift
from diskbench.analysis.repeats import by_machine
from diskbench.model.history import History, HistoryPoint, LevelChange, Regressions
from diskbench.results.compare_runs import differences
from diskbench.results.pool import alike
from diskbench.results.trial_figures import trial_figures, words

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.analysis.drift import Drift
    from diskbench.model.comparison import Metric
    from diskbench.results.trial_figures import TrialFigure
    from diskbench.store.query import Filter

_HIGHER_IS_BETTER = frozenset({"iops", "bytes_per_s"})


def find_regressions(
    database: Engine,
    filters: Sequence[Filter],
    *,
    metric: Metric = "iops",
    pool: Collection[str] = (),
) -> Regressions:
    """The history of each step of each subject that was measured at least twice.

    A time is one campaign: a matrix of a schedule, or one command. Its figure is the median of its
    machines, for single ones are too noisy to show a step of a tenth. Machines on which another
    kernel, zone or regime was found than on most of that time do not count, unless the fact is in
    `pool`; nor do figures that span a cliff.
    """
    found: dict[object, list[TrialFigure]] = defaultdict(list)
    undated: dict[str, None] = {}
    for one in trial_figures(database, filters, metric):
        if one.at is None:
            undated[one.trial_id] = None
        else:
            found[one.subject, one.line].append(one)
    histories = (history_of(figures, metric, pool=pool) for figures in found.values())
    return Regressions(
        histories=tuple(one for one in histories if len(one.points) > 1), undated=tuple(undated)
    )


def history_of(
    figures: Sequence[TrialFigure], metric: Metric, *, pool: Collection[str] = ()
) -> History:
    """The history of one step and direction of one subject; `figures` are of nothing else. Those
    without a date have no place in it."""
    times: dict[str, list[TrialFigure]] = defaultdict(list)
    for one in figures:
        if one.at is not None:
            times[one.campaign_id].append(one)
    groups = [found[0] for time in times.values() if (found := alike(time, pool=pool))]
    groups.sort(key=time_of)
    points = tuple(
        HistoryPoint(
            at=time_of(group),
            campaign_id=group[0].campaign_id,
            value=median(by_machine([one.sample for one in group])),
            trials=len(group),
            left_out=len(times[group[0].campaign_id]) - len(group),
        )
        for group in groups
    )
    seen = drift([point.value for point in points])
    first = figures[0]
    return History(
        block=words(first.subject),
        step=first.line.step,
        direction=first.line.direction,
        metric=metric,
        points=points,
        changes=tuple(_changes(seen, points, groups, metric)),
        noise=seen.noise,
        span=seen.span,
        visible=seen.visible,
        after_cliff=sum(one.level is not None for group in groups for one in group),
    )


def time_of(figures: Sequence[TrialFigure]) -> str:
    """When the first of some figures with a date was measured; empty where none has one."""
    return next((one.at for one in figures if one.at is not None), "")


def _changes(
    seen: Drift,
    points: Sequence[HistoryPoint],
    groups: Sequence[Sequence[TrialFigure]],
    metric: Metric,
) -> list[LevelChange]:
    edges = [0, *(shift.at for shift in seen.shifts), len(points)]
    spans = [[one for group in groups[a:b] for one in group] for a, b in pairwise(edges)]
    return [
        LevelChange(
            at=points[shift.at].at,
            before=points[shift.at - 1].at,
            median_before=shift.before,
            median_after=shift.after,
            change=shift.change,
            regression=(shift.change < 0) == (metric in _HIGHER_IS_BETTER),
            p=shift.p,
            since=edges[i + 2] - shift.at,
            differences=differences(spans[i], spans[i + 1]),
        )
        for i, shift in enumerate(seen.shifts)
    ]
