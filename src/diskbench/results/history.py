"""The history of repeated measurements, and the times at which their level changed (MR-15); and
the data of the published site: every subject with its runs, and the history of each of its steps.
On a site replicates are the trials since the last change whose facts equal those of the newest
(MR-14): two levels, or two kernels, have no common median."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from operator import itemgetter
from statistics import median
from typing import get_args

from sqlalchemy.engine import Engine

from diskbench.analysis.drift import Drift, drift
from diskbench.analysis.repeats import by_machine, replicated
from diskbench.model.comparison import Metric
from diskbench.model.history import (
    Configuration,
    History,
    HistoryPoint,
    LevelChange,
    MetricHistory,
    Sampled,
)
from diskbench.model.run import AskedRun
from diskbench.parallel import few_at_a_time, grouped
from diskbench.results import trial_figures
from diskbench.results.compare_runs import differences
from diskbench.results.pool import alike
from diskbench.results.trial_figures import Fields, LineFigure
from diskbench.store.figures import finished_trials
from diskbench.store.query import chunks, rents_of, runs_by_id
from diskbench.store.where import Filter

MOST_TRIALS = 200
"""Trials of several subjects whose figures are in memory together; our choice."""
METRICS: tuple[Metric, ...] = get_args(Metric)
_KEY = 16
"""Hexadecimal digits of a digest, enough to distinguish 100,000 configurations."""


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
    date are added to `undated`."""
    trials_of = trials_by_subject(database, filters)
    for _, read in figures_of_subjects(database, filters, (metric,), trials_of):
        undated |= {figure.trial_id: None for figure in read[metric] if figure.at is None}
        dated = (figure for figure in read[metric] if figure.at is not None)
        for figures in grouped(dated, lambda figure: figure.line).values():
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
        read = trial_figures.figures_by_metric(database, filters, metrics, trial_ids=list(subjects))
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
    times = _times(figures)
    groups = [pooled[0] for time in times.values() if (pooled := alike(time, pool=pool))]
    groups.sort(key=_time_of)
    points = tuple(
        HistoryPoint(
            at=_time_of(group),
            campaign_id=(name := group[0].campaign_id),
            value=median(by_machine([figure.sample for figure in group])),
            trials=len(group),
            left_out=len(times[name]) - len(group),
        )
        for group in groups
    )
    measured, line = drift([point.value for point in points]), figures[0].line
    return History(
        block=trial_figures.words(figures[0].subject),
        step=line.step,
        direction=line.direction,
        metric=metric,
        points=points,
        changes=tuple(_changes(measured, points, groups, metric)),
        noise=measured.noise,
        span=measured.span,
        visible=measured.visible,
        after_cliff=sum(figure.level is not None for group in groups for figure in group),
    )


def _times(figures: Iterable[LineFigure]) -> dict[str, list[LineFigure]]:
    """The figures of each point in time, which is a campaign; those without a date left out."""
    dated = (figure for figure in figures if figure.at is not None)
    return grouped(dated, lambda figure: figure.campaign_id)


def _time_of(figures: Sequence[LineFigure]) -> str:
    """The time of the first figure that has a date; empty where none has one."""
    return next((figure.at for figure in figures if figure.at is not None), "")


def _changes(
    measured: Drift,
    points: Sequence[HistoryPoint],
    groups: Sequence[Sequence[LineFigure]],
    metric: Metric,
) -> list[LevelChange]:
    if not measured.shifts:
        return []
    edges = [0, *(shift.at for shift in measured.shifts), len(points)]
    spans = [[figure for group in groups[a:b] for figure in group] for a, b in pairwise(edges)]
    known = [shift.at for shift in drift([point.value for point in points[:-1]]).shifts]
    return [
        LevelChange(
            at=points[shift.at].at,
            before=points[shift.at - 1].at,
            median_before=shift.before,
            median_after=shift.after,
            change=shift.change,
            regression=(shift.change < 0) == (metric in {"iops", "bytes_per_s"}),
            p=shift.p,
            since=edges[i + 2] - shift.at,
            differences=differences(spans[i], spans[i + 1]),
            new=all(abs(shift.at - at) > 1 for at in known),
        )
        for i, shift in enumerate(measured.shifts)
    ]


def trials_by_subject(database: Engine, filters: Sequence[Filter]) -> dict[Fields, list[str]]:
    """The trials with finished runs that meet `filters`, by subject, oldest first: 200 bytes a
    trial, where its runs with their figures are many thousands."""
    trials_of: dict[Fields, list[str]] = defaultdict(list)
    trials = {run_id: trial_id for trial_id, run_id in finished_trials(database, filters)}
    for chunk in chunks(list(trials)):
        runs = runs_by_id(database, chunk)
        rents = rents_of(database, [trials[run_id] for run_id in chunk])
        for run_id in chunk:
            subject = trial_figures.subject_of(runs[run_id], rents[trials[run_id]])
            trials_of[subject].append(trials[run_id])
    return trials_of


def by_subject(rows: Iterable[AskedRun]) -> dict[Fields, list[AskedRun]]:
    """Runs by subject, in the order of each subject's first run in `rows`."""
    return grouped(rows, lambda row: trial_figures.subject_of(row.run, row.rent))


def key_of(subject: Fields) -> str:
    """The name of a subject's page, which depends on the fields alone."""
    return sha256(json.dumps(subject).encode()).hexdigest()[:_KEY]


def configurations(
    database: Engine, filters: Sequence[Filter], groups: Mapping[Fields, Sequence[AskedRun]]
) -> Iterator[Configuration]:
    """One configuration per subject in `groups` (runs newest first, all meeting `filters`), in
    their order."""
    trials_of = {
        subject: list(dict.fromkeys(row.run.trial_id for row in reversed(rows)))
        for subject, rows in groups.items()
    }
    for subject, figures in figures_of_subjects(database, filters, METRICS, trials_of):
        yield _configuration(subject, groups[subject], figures)


def _configuration(
    subject: Fields, rows: Sequence[AskedRun], figures: Mapping[Metric, Sequence[LineFigure]]
) -> Configuration:
    asked = dict(subject)
    # rows are newest first: of each trial the first finished run stays
    first_runs = {row.run.trial_id: row.run.run_id for row in rows if row.run.state == "done"}
    trials = list({figure.trial_id: figure for figure in figures.get("iops", ())}.values())
    sizes = " ".join(filter(None, (asked.get("disk"), asked.get("size"))))
    dates = [row.run.measured_at for row in rows if row.run.measured_at]
    in_order = sorted(_times(trials).values(), key=lambda group: min(map(_time, group)))
    return Configuration(
        key=key_of(subject),
        words=trial_figures.words(subject),
        fields=subject,
        provider=asked["provider"],
        region=asked.get("region", ""),
        disk=sizes,
        machine=asked.get("instance_type") or asked.get("machine", ""),
        profile=asked.get("profile", ""),
        marks=tuple(sorted({mark for row in rows for mark in row.run.marks})),
        runs=tuple(row.run.run_id for row in rows),
        times=len({row.run.campaign_id for row in rows}),
        machines=len({figure.machine for figure in trials}),
        first=min(dates, default=""),
        last=max(dates, default=""),
        undated=tuple(row.run.run_id for row in rows if row.run.measured_at is None),
        tracks=tuple(_tracks(figures, first_runs)),
        facts=tuple(_facts(trials)),
        fact_changes=tuple(
            (min(map(_time, after)), found)
            for before, after in pairwise(in_order)
            for found in differences(before, after)
        ),
    )


def _tracks(
    figures: Mapping[Metric, Sequence[LineFigure]], first_runs: Mapping[str, str]
) -> Iterator[MetricHistory]:
    """One history per step and metric, steps in the order of the job."""
    every = ((metric, figure) for metric, of_metric in figures.items() for figure in of_metric)
    by_line = grouped(every, lambda pair: pair[1].line)
    order = {line: min(figure.order for _, figure in of) for line, of in by_line.items()}
    for line in sorted(by_line, key=lambda line: (order[line], line.direction)):
        for metric, pairs in grouped(by_line[line], itemgetter(0)).items():
            of_metric = [figure for _, figure in pairs]
            if any(not figure.spans_cliff for figure in of_metric):
                yield _track(metric, of_metric, first_runs)


def _track(
    metric: Metric, figures: Sequence[LineFigure], first_runs: Mapping[str, str]
) -> MetricHistory:
    line, history = figures[0].line, history_of(figures, metric)
    known = [figure for figure in figures if not figure.spans_cliff]
    usable = sorted((figure for figure in known if figure.at is not None), key=_time)
    since = history.changes[-1].at if history.changes else ""
    began = {point.campaign_id: point.at for point in history.points}
    recent = [figure for figure in usable if began[figure.campaign_id] >= since] or known
    now = next(group for group in alike(recent) if recent[-1] in group)
    return MetricHistory(
        rw=line.rw,
        block_bytes=line.block_bytes,
        iodepth=line.iodepth,
        history=history,
        now=replicated(figure.sample for figure in now),
        left_out=len(recent) - len(now),
        sampled=tuple(
            Sampled(
                run_id=first_runs[figure.trial_id],
                trial_id=figure.trial_id,
                campaign_id=figure.campaign_id,
                at=_time(figure),
                value=figure.value,
            )
            for figure in usable
        ),
    )


def _facts(trials: Sequence[LineFigure]) -> Iterator[tuple[str, tuple[str, ...]]]:
    newest_first = [dict(trial.facts) for trial in sorted(trials, key=_time)[::-1]]
    for name in trial_figures.FACTS:
        values = dict.fromkeys(facts[name] for facts in newest_first if name in facts)
        if values:
            yield name, tuple(reversed(values))


def _time(figure: LineFigure) -> str:
    """When a trial was measured; empty, which sorts first, where the time is not known."""
    return figure.at or ""
