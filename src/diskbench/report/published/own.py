"""Own trials on a chart of published figures, and why others do not match it: one point per trial
and figure, the mean over its runs, because the posts give means (differences.py)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from sqlalchemy.engine import Engine

from diskbench.analysis.drift import fall_of
from diskbench.catalog.books import Books
from diskbench.catalog.post_file import Published
from diskbench.catalog.published import Match, group, load_published, match
from diskbench.model.ids import short
from diskbench.model.run import Run
from diskbench.model.verdict import trust_words
from diskbench.parallel import grouped
from diskbench.plan.published import asked_of
from diskbench.report.assemble.subject import marks_of
from diskbench.report.charts.measure import with_unit
from diskbench.report.charts.point import ChartPoint
from diskbench.report.charts.runs_line import CliffMark
from diskbench.report.published.differences import figure_beside
from diskbench.report.published.draw import OwnRuns
from diskbench.report.published.points import PostChart, of_outlook, predicted_cliffs, short_label
from diskbench.results.run_evidence import EvidenceOfRuns
from diskbench.results.trial import Trial, read_trials
from diskbench.store.rows import find_plan


def own_trials(
    database: Engine,
    runs: Sequence[Run],
    chart: PostChart,
    evidence: EvidenceOfRuns,
    books: Books,
    include_emulated: bool,
) -> OwnRuns:
    """The trials of these runs (database rows) that match figures of a chart. Without
    `include_emulated`, only measurements of a cloud's disk count."""
    figures = chart.of(load_published())
    points: list[ChartPoint] = []
    cliffs: list[CliffMark] = []
    left_out: list[str] = []
    for of_trial in grouped(runs, lambda run: run.trial_id).values():
        marks = marks_of(of_trial)
        first = of_trial[0]
        asked = asked_of(first, find_plan(database, first.trial_id))
        matched = match(asked, figures)
        if marks and not include_emulated:
            what = f"{short(first.run_id)} is {', '.join(marks)}: it is not a figure of a cloud's"
            left_out.append(f"{what} disk; --include-emulated draws it anyway")
        elif not matched.figures:
            left_out.append(_why_not(first.run_id, match(asked, load_published())))
        else:
            (trial,) = read_trials(database, {first.trial_id: of_trial}, evidence, books).values()
            each = (_point(trial, figure, marks) for figure in matched.figures)
            found = [point for point in each if point is not None]
            points += found
            cliffs += _cliffs(trial, found)
    return OwnRuns(tuple(points), tuple(dict.fromkeys(cliffs)), tuple(dict.fromkeys(left_out)))


def _why_not(run_id: str, matched: Match) -> str:
    """Why a trial matches nothing in a chart: its disk is on other charts, or on none."""
    if matched.figures:
        disks = ", ".join(dict.fromkeys(group(figure) for figure in matched.figures))
        return f"{short(run_id)} matches {disks}, which this chart does not show"
    near = "; ".join(f"{near.name}: {near.why}" for near in matched.nearest[:1])
    return f"{short(run_id)}: {matched.why_not}{f' ({near})' if near else ''}"


_APART = 2.0
"""Runs that differ by this factor belong to different regimes. Our choice."""


def _cliffs(trial: Trial, points: Sequence[ChartPoint]) -> Iterator[CliffMark]:
    """Where its plan says that it falls, and where it fell: between runs, else within one."""
    expected = trial.plan.expectation if trial.plan and points else None
    for mark in predicted_cliffs(expected):
        yield replace(mark, of="yours")
    falls = []
    for point in points:  # the run from which on a figure stays low
        if (fall := fall_of(point.values)) is not None:
            before, after = (with_unit(point.metric, at) for at in (fall.before, fall.after))
            words = f"found: {point.step}, from {before} or more to {after} or less"
            falls.append(CliffMark(point.numbers[fall.index], "measured", words))
    numbers = {run.run_id: run.number for run in trial.runs}
    fallen = [phase for phase in trial.phases if phase.cliffs and phase.run_id in numbers]
    if falls:
        yield min(falls, key=lambda mark: mark.run)
    elif fallen:
        first = min(fallen, key=lambda phase: (numbers[phase.run_id], phase.step_index))
        cliff, number = first.cliffs[0], numbers[first.run_id]
        rates = f"from {cliff.before:,.0f} to {cliff.after:,.0f}"
        words = f"found: in run {number}, {first.step}, after {cliff.at_s:.0f} s, {rates}"
        yield CliffMark(number, "measured", words)


def _point(trial: Trial, figure: Published, marks: tuple[str, ...]) -> ChartPoint | None:
    first = trial.runs[0]
    joined = figure_beside(figure, trial)
    if joined is None:
        return None
    by_run, values = joined.by_run, tuple(joined.by_run.values())
    numbers = {run.run_id: run.number for run in trial.runs}
    rental = trial.plan.rental if trial.plan else None
    point = ChartPoint(
        label=short_label(figure),
        metric=figure.metric,
        value=joined.ours,
        direction=figure.direction,
        key=figure.id,
        provider=figure.provider,
        region=(rental.scope.region or "") if rental else "",
        instance=first.instance_type or "",
        step=figure.step,
        values=values,
        run_ids=tuple(by_run),
        numbers=tuple(numbers[run_id] for run_id in by_run),
        low=min(values) if len(values) > 1 else None,
        high=max(values) if len(values) > 1 else None,
        n=joined.runs,
        when=str(first.when or ""),
        marks=marks,
        doubt=_doubt(values[-joined.runs :]) or _doubted(trial, figure.step, by_run),
        machine=first.machine(rented=rental is not None),
    )
    return of_outlook(point, trial.plan.expectation if trial.plan else None)


def _doubt(values: Sequence[float]) -> str:
    """The doubt about a mean over runs with and without credit: it describes neither (MR-3)."""
    if len(values) < 2 or max(values) < _APART * min(values):
        return ""
    return "the mean covers runs at different levels: look at each run (a chart of throttling)"


def _doubted(trial: Trial, step: str, run_ids: Collection[str]) -> str:
    """Why the first step that is not trusted is doubted, of the runs whose mean is the figure."""
    for verdict in trial.verdicts:
        if verdict.step == step and verdict.run_id in run_ids and verdict.trust != "yes":
            return trust_words(verdict.trust, verdict.reasons).removeprefix("with care: ")
    return ""
