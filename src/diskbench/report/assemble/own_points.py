"""Own trials as points and lines over published figures: a point a trial and figure, the mean over
its runs, because the posts give means (catalog/published_beside.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from diskbench.analysis.falls import fall_of
from diskbench.plan.published import GOBONNIEGO_FILE
from diskbench.report.assemble.outlook_points import predicted_cliffs
from diskbench.report.charts.measure import with_unit
from diskbench.report.charts.point import ChartPoint
from diskbench.report.charts.runs_line import ChartRunLine, CliffMark
from diskbench.report.published.draw import OwnTrials
from diskbench.report.published.level import at_one_level, run_values
from diskbench.report.published.points import short

if TYPE_CHECKING:
    from diskbench.catalog.published import Published
    from diskbench.model.expectation import PlanExpectation
    from diskbench.model.phase import StepPhases
    from diskbench.model.result import Measurement
    from diskbench.model.run import Run
    from diskbench.model.spec import Plan

_APART = 2.0
"""Runs of which one is so many times another are of different regimes. Our choice."""


@dataclass(frozen=True)
class Trial:
    """One trial and the figures that it matches. `runs` are its rows as in the database, and
    `measurements` those of each run. `doubts` says why a step of a run, by the run's id and the
    step's name, is not simply believed."""

    figures: tuple[Published, ...]
    runs: tuple[Run, ...]
    plan: Plan | None
    measurements: Mapping[str, tuple[Measurement, ...]]
    phases: tuple[StepPhases, ...] = ()
    marks: tuple[str, ...] = ()
    doubts: Mapping[tuple[str, str], str] = field(default_factory=dict)


def own_of(trials: Iterable[Trial]) -> OwnTrials:
    """Points, lines, cliffs and expectations of trials."""
    points: list[ChartPoint] = []
    lines: list[ChartRunLine] = []
    cliffs: dict[CliffMark, None] = {}
    outlooks: dict[str, PlanExpectation] = {}
    for trial in trials:
        of_trial = [one for figure in trial.figures if (one := _point(trial, figure)) is not None]
        points += of_trial
        lines += _lines(trial, of_trial)
        expected = trial.plan.expectation if trial.plan else None
        if expected is not None and of_trial:
            outlooks[of_trial[0].run_ids[0]] = expected
            predicted = (replace(one, of="yours") for one in predicted_cliffs(expected))
            cliffs |= dict.fromkeys(predicted)
        numbers = {run.run_id: run.number for run in trial.runs}
        cliffs |= dict.fromkeys(_fallen(of_trial, numbers) or found_cliffs(trial.phases, numbers))
    return OwnTrials(tuple(points), tuple(lines), tuple(cliffs), outlooks)


def _fallen(points: Sequence[ChartPoint], numbers: Mapping[str, int]) -> tuple[CliffMark, ...]:
    """The run from which on a figure stays down, of the figure that falls first."""
    found = []
    for one in points:
        fall = fall_of(one.values)
        if fall is not None:
            before, after = with_unit(one.metric, fall.before), with_unit(one.metric, fall.after)
            words = f"found: {one.step}, from {before} or more to {after} or less"
            found.append(CliffMark(numbers[one.run_ids[fall.index]], "measured", words))
    return (min(found, key=lambda mark: mark.run),) if found else ()


def found_cliffs(phases: Iterable[StepPhases], numbers: Mapping[str, int]) -> tuple[CliffMark, ...]:
    """The first run in whose seconds a cliff was found; `numbers` are those of the runs, from 1."""
    found = [one for one in phases if one.cliffs and one.run_id in numbers]
    if not found:
        return ()
    first = min(found, key=lambda one: (numbers[one.run_id], one.step_index))
    cliff = first.cliffs[0]
    words = (
        f"found: in run {numbers[first.run_id]}, {first.step}, after {cliff.at_s:.0f} s, from "
        f"{cliff.before:,.0f} to {cliff.after:,.0f}"
    )
    return (CliffMark(numbers[first.run_id], "measured", words),)


def _point(trial: Trial, figure: Published) -> ChartPoint | None:
    first = trial.runs[0]
    ids = [run.run_id for run in trial.runs]
    theirs = first.provider == GOBONNIEGO_FILE
    rows = [row for run_id in ids for row in trial.measurements.get(run_id, ())]
    whole = at_one_level(figure, rows, gobonniego_file=theirs)
    if whole is None:
        return None
    by_run = run_values(figure, rows, gobonniego_file=theirs)
    values = tuple(by_run.values())
    rental = trial.plan.rental if trial.plan else None
    return ChartPoint(
        label=short(figure),
        metric=figure.metric,
        value=whole.ours,
        direction=figure.direction,
        key=figure.id,
        provider=figure.provider,
        region=(rental.scope.region or "") if rental else "",
        instance=first.instance_type or "",
        disk=figure.disk_type,
        profile=figure.profile,
        step=figure.step,
        values=values,
        run_ids=tuple(by_run),
        low=min(values) if len(values) > 1 else None,
        high=max(values) if len(values) > 1 else None,
        n=whole.runs,
        when=str(first.when or ""),
        marks=trial.marks,
        doubt=_doubt(values[-whole.runs :]) or _doubted(trial, figure.step, by_run),
        machine=_machine(trial),
    )


def _doubt(values: Sequence[float]) -> str:
    """A mean over runs on credit and runs without is a mean of nothing (MR-3)."""
    if len(values) < 2 or max(values) < _APART * min(values):
        return ""
    return "the mean spans runs far apart: look at them one by one (a chart of throttling)"


def _doubted(trial: Trial, step: str, run_ids: Iterable[str]) -> str:
    """The first doubt in the runs that a figure is the mean of."""
    told = (trial.doubts.get((run_id, step), "") for run_id in run_ids)
    return next(filter(None, told), "")


def _lines(trial: Trial, points: Sequence[ChartPoint]) -> list[ChartRunLine]:
    """A line for each metric and direction, a value a run."""
    numbers = {run.run_id: run.number for run in trial.runs}
    found: dict[tuple[str, str], ChartRunLine] = {}
    for one in points:
        values = tuple(
            (numbers[run_id], value) for run_id, value in zip(one.run_ids, one.values, strict=True)
        )
        line = ChartRunLine(
            one.label, one.metric, "measured", values, one.direction, one.run_ids, marks=one.marks
        )
        found.setdefault((one.metric, one.direction), line)
    return list(found.values())


def _machine(trial: Trial) -> str:
    """A rented machine is its trial's own; one that was there before may have had others."""
    first = trial.runs[0]
    if trial.plan is not None and trial.plan.rental is not None:
        return first.trial_id
    return f"there:{first.provider}:{first.address or first.hostname or ''}"
