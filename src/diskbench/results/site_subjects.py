"""Data of the published site: every subject with its runs, and the history of each of its steps.

A subject is the set of requested fields (results/trial_figures.py), a point in time is one
campaign, and a change of level is one that `diskbench regressions` finds (results/history.py).
Replicates are the trials since the last change whose facts equal those of the newest (MR-14): two
levels, or two kernels, have no common median.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any, get_args

from sqlalchemy.engine import Engine

from diskbench.model.comparison import Metric
from diskbench.model.history import Configuration, FactChange, History, MetricHistory, Sampled
from diskbench.model.run import AskedRun, Mark
from diskbench.results.compare_runs import differences
from diskbench.results.history import figures_of_subjects, history_of
from diskbench.results.pool import alike, replicated
from diskbench.results.trial_figures import (
    FACTS,
    Fields,
    LineFigure,
    subject_of,
    words,
)
from diskbench.store.where import Filter

METRICS: tuple[Metric, ...] = get_args(Metric)
_MARKS: tuple[Mark, ...] = ("emulated", "imported")
_KEY = 16
"""Hexadecimal digits of a digest, enough to distinguish 100,000 configurations."""


def by_subject(rows: Iterable[AskedRun]) -> dict[Fields, list[AskedRun]]:
    """Runs by subject, in the order of each subject's first run in `rows`."""
    groups: dict[Fields, list[AskedRun]] = {}
    for row in rows:
        groups.setdefault(subject_of(row.run, row.rent), []).append(row)
    return groups


def key_of(subject: Fields) -> str:
    """The name of a subject's page, which depends on the fields alone."""
    return sha256(json.dumps(subject).encode()).hexdigest()[:_KEY]


def configurations(
    database: Engine,
    filters: Sequence[Filter],
    groups: Mapping[Fields, Sequence[AskedRun]],
) -> Iterator[Configuration]:
    """One configuration per subject in `groups` (runs newest first, all meeting `filters`), in
    their order."""
    trials_of = {
        subject: list(dict.fromkeys(row.run.trial_id for row in reversed(rows)))
        for subject, rows in groups.items()
    }
    read = figures_of_subjects(database, filters, METRICS, trials_of)
    for subject, figures in read:
        yield _configuration(subject, groups[subject], figures)


def _configuration(
    subject: Fields,
    rows: Sequence[AskedRun],
    figures: Mapping[Metric, Sequence[LineFigure]],
) -> Configuration:
    asked = dict(subject)
    # rows are newest first: of each trial the first finished run stays
    first_runs = {row.run.trial_id: row.run.run_id for row in rows if row.run.state == "done"}
    trials = list({figure.trial_id: figure for figure in figures.get("iops", ())}.values())
    sizes = " ".join(filter(None, (asked.get("disk"), asked.get("size"))))
    dates = [row.run.measured_at for row in rows if row.run.measured_at]
    return Configuration(
        key=key_of(subject),
        words=words(subject),
        fields=subject,
        provider=asked["provider"],
        region=asked.get("region", ""),
        disk=sizes,
        machine=asked.get("instance_type") or asked.get("machine", ""),
        profile=asked.get("profile", ""),
        marks=tuple(mark for mark in _MARKS if any(row.run.has(mark) for row in rows)),
        runs=tuple(row.run.run_id for row in rows),
        times=len({row.run.campaign_id for row in rows}),
        machines=len({figure.machine for figure in trials}),
        first=min(dates, default=""),
        last=max(dates, default=""),
        undated=tuple(row.run.run_id for row in rows if row.run.measured_at is None),
        tracks=tuple(_tracks(figures, first_runs)),
        facts=tuple(_facts(trials)),
        fact_changes=tuple(_fact_changes(trials)),
    )


def _tracks(
    figures: Mapping[Metric, Sequence[LineFigure]], first_runs: Mapping[str, str]
) -> Iterator[MetricHistory]:
    """One history per step and metric, steps in the order of the job."""
    by_line: dict[Any, dict[Metric, list[LineFigure]]] = defaultdict(lambda: defaultdict(list))
    for metric, of_metric in figures.items():
        for figure in of_metric:
            by_line[figure.line][metric].append(figure)
    order = {
        line: min(figure.order for group in by.values() for figure in group)
        for line, by in by_line.items()
    }
    for line in sorted(by_line, key=lambda line: (order[line], line.direction)):
        for metric, group in by_line[line].items():
            history = history_of(group, metric)
            if any(not figure.spans_cliff for figure in group):
                yield _track(history, group, first_runs)


def _track(
    history: History, figures: Sequence[LineFigure], first_runs: Mapping[str, str]
) -> MetricHistory:
    line = figures[0].line
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
    by_time = [dict(trial.facts) for trial in sorted(trials, key=_time)]
    for name in FACTS:
        newest_last = list(
            dict.fromkeys(facts[name] for facts in reversed(by_time) if name in facts)
        )
        if newest_last:
            yield name, tuple(reversed(newest_last))


def _fact_changes(trials: Sequence[LineFigure]) -> Iterator[FactChange]:
    """The facts that changed from one campaign to the next, in order of time."""
    times: dict[str, list[LineFigure]] = defaultdict(list)
    for trial in trials:
        if trial.at is not None:
            times[trial.campaign_id].append(trial)
    groups = sorted(times.values(), key=lambda group: min(map(_time, group)))
    for before, after in pairwise(groups):
        at = min(map(_time, after))
        for difference in differences(before, after):
            yield FactChange(at=at, fact=difference.fact, before=difference.a, after=difference.b)


def _time(figure: LineFigure) -> str:
    """When a trial was measured; empty, which sorts first, where the time is not known."""
    return figure.at or ""
