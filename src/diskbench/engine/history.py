"""What was measured again and again, and where its level changed (MR-15)."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from diskbench.analysis.drift import drift
from diskbench.analysis.repeats import by_machine
from diskbench.engine.compare_runs import differences
from diskbench.engine.trial_figures import trial_figures, words
from diskbench.model.history import History, LevelChange, Point, Regressions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Engine

    from diskbench.analysis.drift import Drift
    from diskbench.engine.trial_figures import TrialFigure
    from diskbench.model.comparison import Metric
    from diskbench.store.query import Filter

_HIGHER_IS_BETTER = frozenset({"iops", "bytes_per_s"})


def find_regressions(
    database: Engine, filters: Sequence[Filter], *, metric: Metric = "iops"
) -> Regressions:
    """The history of each step of each subject that was measured at least twice.

    A time is one campaign: a matrix of a schedule, or one command. Its figure is the median of its
    machines, for single ones are too noisy to show a step of a tenth.
    """
    found: dict[object, list[TrialFigure]] = defaultdict(list)
    for one in trial_figures(database, filters, metric):
        found[one.subject, one.line].append(one)
    histories = (history_of(figures, metric) for figures in found.values())
    return Regressions(histories=tuple(one for one in histories if len(one.points) > 1))


def history_of(figures: Sequence[TrialFigure], metric: Metric) -> History:
    """The history of one step and direction of one subject; `figures` are of nothing else."""
    times: dict[str, list[TrialFigure]] = defaultdict(list)
    for one in figures:
        times[one.campaign_id].append(one)
    groups = sorted(times.values(), key=lambda group: group[0].at)
    points = tuple(
        Point(
            at=group[0].at,
            campaign_id=group[0].campaign_id,
            value=median(by_machine([one.sample for one in group])),
            trials=len(group),
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
    )


def _changes(
    seen: Drift,
    points: Sequence[Point],
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
