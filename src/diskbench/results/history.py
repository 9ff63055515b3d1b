"""The history of repeated measurements, and the times at which their level changed (MR-15)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median

from sqlalchemy.engine import Engine

from diskbench.analysis.drift import Drift, drift
from diskbench.analysis.repeats import by_machine
from diskbench.model.comparison import Metric
from diskbench.model.history import History, HistoryPoint, LevelChange
from diskbench.parallel import few_at_a_time
from diskbench.results.compare_runs import differences
from diskbench.results.pool import alike
from diskbench.results.trial_figures import (
    Fields,
    FigureLine,
    LineFigure,
    figures_by_metric,
    subject_of,
    words,
)
from diskbench.store.figures import finished_trials, rents_of
from diskbench.store.query import chunks, runs_by_id
from diskbench.store.where import Filter

_HIGHER_IS_BETTER = frozenset({"iops", "bytes_per_s"})
MOST_TRIALS = 200
"""Trials of several subjects whose figures are in memory together; our choice."""


def histories(
    database: Engine,
    filters: Sequence[Filter],
    undated: dict[str, None],
    *,
    metric: Metric = "iops",
    pool: Collection[str] = (),
) -> Iterator[History]:
    """The history of each step of each subject that was measured at least twice, subject by
    subject, the first measured first: what is in memory at a time are the figures of some subjects.

    A point in time is one campaign: a matrix of a schedule, or one command. Its figure is the
    median over its machines, because single machines are too noisy to show a change of 10 %.
    Machines whose kernel, zone or another fact differs from that of most machines of the campaign
    do not count, unless the fact is in `pool`; nor do figures that span a cliff. Trials without a
    date are added to `undated`.
    """
    trials_of = trials_by_subject(database, filters)
    for _, read in figures_of_subjects(database, filters, (metric,), trials_of):
        lines: dict[FigureLine, list[LineFigure]] = defaultdict(list)
        for figure in read[metric]:
            if figure.at is None:
                undated[figure.trial_id] = None
            else:
                lines[figure.line].append(figure)
        for figures in lines.values():
            history = history_of(figures, metric, pool=pool)
            if len(history.points) > 1:
                yield history


def figures_of_subjects(
    database: Engine,
    filters: Sequence[Filter],
    metrics: Sequence[Metric],
    trials_of: Mapping[Fields, Sequence[str]],
) -> Iterator[tuple[Fields, dict[Metric, list[LineFigure]]]]:
    """The figures of the trials of each subject, in the order of `trials_of`; some subjects are
    read at a time."""
    for few in few_at_a_time(trials_of.items(), MOST_TRIALS):
        subjects = {trial_id: subject for subject, ids in few.items() for trial_id in ids}
        read = figures_by_metric(database, filters, metrics, trial_ids=list(subjects))
        figures: dict[Fields, dict[Metric, list[LineFigure]]] = {
            subject: {metric: [] for metric in metrics} for subject in few
        }
        for metric, of_metric in read.items():
            for figure in of_metric:
                figures[subjects[figure.trial_id]][metric].append(figure)
        yield from figures.items()


def history_of(
    figures: Sequence[LineFigure], metric: Metric, *, pool: Collection[str] = ()
) -> History:
    """The history of one step and direction of one subject, to which all `figures` belong. Figures
    without a date are left out."""
    times: dict[str, list[LineFigure]] = defaultdict(list)
    for figure in figures:
        if figure.at is not None:
            times[figure.campaign_id].append(figure)
    groups = [pooled[0] for time in times.values() if (pooled := alike(time, pool=pool))]
    groups.sort(key=_time_of)
    points = tuple(
        HistoryPoint(
            at=_time_of(group),
            campaign_id=group[0].campaign_id,
            value=median(by_machine([figure.sample for figure in group])),
            trials=len(group),
            left_out=len(times[group[0].campaign_id]) - len(group),
        )
        for group in groups
    )
    measured = drift([point.value for point in points])
    first = figures[0]
    return History(
        block=words(first.subject),
        step=first.line.step,
        direction=first.line.direction,
        metric=metric,
        points=points,
        changes=tuple(_changes(measured, points, groups, metric)),
        noise=measured.noise,
        span=measured.span,
        visible=measured.visible,
        after_cliff=sum(figure.level is not None for group in groups for figure in group),
    )


def _time_of(figures: Sequence[LineFigure]) -> str:
    """The time of the first figure that has a date; empty where none has one."""
    return next((figure.at for figure in figures if figure.at is not None), "")


def _changes(
    measured: Drift,
    points: Sequence[HistoryPoint],
    groups: Sequence[Sequence[LineFigure]],
    metric: Metric,
) -> list[LevelChange]:
    edges = [0, *(shift.at for shift in measured.shifts), len(points)]
    spans = [[figure for group in groups[a:b] for figure in group] for a, b in pairwise(edges)]
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
        for i, shift in enumerate(measured.shifts)
    ]


def trials_by_subject(database: Engine, filters: Sequence[Filter]) -> dict[Fields, list[str]]:
    """The trials with finished runs that meet `filters`, by subject, oldest first: 200 bytes a
    trial, where its runs with their figures are many thousands."""
    trials_of: dict[Fields, list[str]] = defaultdict(list)
    trials = {trial.run_id: trial for trial in finished_trials(database, filters)}
    for chunk in chunks(list(trials)):
        runs = runs_by_id(database, chunk)
        rents = rents_of(database, [trials[run_id].trial_id for run_id in chunk])
        for run_id in chunk:
            trial = trials[run_id]
            subject = subject_of(runs[run_id], rents[trial.trial_id])
            trials_of[subject].append(trial.trial_id)
    return trials_of
