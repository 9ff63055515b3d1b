"""Own trials on a chart of published figures, and why others do not match it: one point per trial
and figure, the mean over its runs, because the posts give means (catalog/differences.py)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.engine import Engine

from diskbench.analysis.drift import fall_of
from diskbench.catalog.books import Books
from diskbench.catalog.post_file import Published
from diskbench.catalog.published import Match, group, load_published, match
from diskbench.model.expectation import PlanExpectation
from diskbench.model.ids import short
from diskbench.model.phase import StepPhases
from diskbench.model.run import Run
from diskbench.model.verdict import trust_words
from diskbench.plan.published import GOBONNIEGO_FILE, asked_of
from diskbench.report.assemble.subject import marks_of
from diskbench.report.charts.measure import with_unit
from diskbench.report.charts.point import ChartPoint
from diskbench.report.charts.runs_line import ChartRunLine, CliffMark
from diskbench.report.published.charts import PostChart
from diskbench.report.published.draw import OwnRuns
from diskbench.report.published.points import (
    at_one_level,
    predicted_cliffs,
    run_values,
    short_label,
)
from diskbench.results.run_evidence import EvidenceOfRuns
from diskbench.results.trial import Trial, read_trial
from diskbench.store.rows import find_plan


def own_trials(
    database: Engine,
    runs: Sequence[Run],
    chart: PostChart,
    evidence: EvidenceOfRuns,
    books: Books,
    include_emulated: bool,
) -> tuple[OwnRuns, tuple[str, ...]]:
    """The trials of these runs (database rows) as points and lines of a chart, and the reasons why
    others are left out. Without `include_emulated`, only measurements of a cloud's disk count."""
    by_trial: dict[str, list[Run]] = {}
    for run in runs:
        by_trial.setdefault(run.trial_id, []).append(run)
    figures = chart.of(load_published())
    taken: list[_Matched] = []
    left_out: dict[str, None] = {}
    for of_trial in by_trial.values():
        trial = _trial(database, of_trial, figures, evidence, books, include_emulated)
        if isinstance(trial, str):
            left_out[trial] = None
        else:
            taken.append(trial)
    return _own_of(taken), tuple(left_out)


def _trial(
    database: Engine,
    runs: Sequence[Run],
    figures: Sequence[Published],
    evidence: EvidenceOfRuns,
    books: Books,
    include_emulated: bool,
) -> _Matched | str:
    """The trial with its matching figures, or the reason why it matches none."""
    first = runs[0]
    marks = marks_of(runs)
    if marks and not include_emulated:
        return (
            f"{short(first.run_id)} is {', '.join(marks)}: it is not a figure of a cloud's "
            "disk; --include-emulated draws it anyway"
        )
    asked = asked_of(first, find_plan(database, first.trial_id))
    matched = match(asked, figures)
    if not matched.figures:
        return _why_not(str(first.run_id), match(asked, load_published()))
    stored = read_trial(database, runs, evidence, books)
    return _Matched(matched.figures, stored, marks)


def _why_not(run_id: str, matched: Match) -> str:
    """Why a trial matches nothing in a chart: its disk is on other charts, or on none."""
    if matched.figures:
        disks = ", ".join(dict.fromkeys(group(figure) for figure in matched.figures))
        return f"{short(run_id)} matches {disks}, which this chart does not show"
    near = "; ".join(f"{near.name}: {near.why}" for near in matched.nearest[:1])
    return f"{short(run_id)}: {matched.why_not}{f' ({near})' if near else ''}"


_APART = 2.0
"""Runs that differ by this factor belong to different regimes. Our choice."""


@dataclass(frozen=True)
class _Matched:
    """One trial and the figures that it matches."""

    figures: tuple[Published, ...]
    stored: Trial
    marks: tuple[str, ...]


def _own_of(trials: Iterable[_Matched]) -> OwnRuns:
    """Points, lines, cliffs and expectations of trials."""
    points: list[ChartPoint] = []
    lines: list[ChartRunLine] = []
    cliffs: dict[CliffMark, None] = {}
    outlooks: dict[str, PlanExpectation] = {}
    for trial in trials:
        of_trial = [
            point for figure in trial.figures if (point := _point(trial, figure)) is not None
        ]
        points += of_trial
        lines += _lines(trial, of_trial)
        expected = trial.stored.plan.expectation if trial.stored.plan else None
        if expected is not None and of_trial:
            outlooks[of_trial[0].run_ids[0]] = expected
            predicted = (replace(cliff, of="yours") for cliff in predicted_cliffs(expected))
            cliffs |= dict.fromkeys(predicted)
        numbers = {run.run_id: run.number for run in trial.stored.runs}
        cliffs |= dict.fromkeys(
            _fallen(of_trial, numbers) or found_cliffs(trial.stored.phases, numbers)
        )
    return OwnRuns(tuple(points), tuple(lines), tuple(cliffs), outlooks)


def _fallen(points: Sequence[ChartPoint], numbers: Mapping[str, int]) -> tuple[CliffMark, ...]:
    """The run from which on a figure stays low, for the figure that falls first."""
    falls = []
    for point in points:
        fall = fall_of(point.values)
        if fall is not None:
            before, after = (
                with_unit(point.metric, fall.before),
                with_unit(point.metric, fall.after),
            )
            words = f"found: {point.step}, from {before} or more to {after} or less"
            falls.append(CliffMark(numbers[point.run_ids[fall.index]], "measured", words))
    return (min(falls, key=lambda mark: mark.run),) if falls else ()


def found_cliffs(phases: Iterable[StepPhases], numbers: Mapping[str, int]) -> tuple[CliffMark, ...]:
    """The first run in whose seconds a cliff was found; `numbers` are run numbers from 1, by id."""
    fallen = [phase for phase in phases if phase.cliffs and phase.run_id in numbers]
    if not fallen:
        return ()
    first = min(fallen, key=lambda phase: (numbers[phase.run_id], phase.step_index))
    cliff = first.cliffs[0]
    words = (
        f"found: in run {numbers[first.run_id]}, {first.step}, after {cliff.at_s:.0f} s, from "
        f"{cliff.before:,.0f} to {cliff.after:,.0f}"
    )
    return (CliffMark(numbers[first.run_id], "measured", words),)


def _point(trial: _Matched, figure: Published) -> ChartPoint | None:
    first = trial.stored.runs[0]
    theirs = first.provider == GOBONNIEGO_FILE
    rows = trial.stored.measurements
    joined = at_one_level(figure, rows, gobonniego_file=theirs)
    if joined is None:
        return None
    by_run = run_values(figure, rows, gobonniego_file=theirs)
    values = tuple(by_run.values())
    rental = trial.stored.plan.rental if trial.stored.plan else None
    return ChartPoint(
        label=short_label(figure),
        metric=figure.metric,
        value=joined.ours,
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
        n=joined.runs,
        when=str(first.when or ""),
        marks=trial.marks,
        doubt=_doubt(values[-joined.runs :]) or _doubted(trial, figure.step, by_run),
        machine=first.machine(rented=rental is not None),
    )


def _doubt(values: Sequence[float]) -> str:
    """The doubt about a mean over runs with and without credit: it describes neither (MR-3)."""
    if len(values) < 2 or max(values) < _APART * min(values):
        return ""
    return "the mean covers runs at different levels: look at each run (a chart of throttling)"


def _doubted(trial: _Matched, step: str, run_ids: Collection[str]) -> str:
    """Why the first step that is not trusted is doubted, of the runs whose mean is the figure."""
    for verdict in trial.stored.verdicts:
        if verdict.step == step and verdict.run_id in run_ids and verdict.trust != "yes":
            return trust_words(verdict.trust, verdict.reasons).removeprefix("with care: ")
    return ""


def _lines(trial: _Matched, points: Sequence[ChartPoint]) -> list[ChartRunLine]:
    """A line for each metric and direction, with a value per run."""
    numbers = {run.run_id: run.number for run in trial.stored.runs}
    lines: dict[tuple[str, str], ChartRunLine] = {}
    for point in points:
        values = tuple(
            (numbers[run_id], value)
            for run_id, value in zip(point.run_ids, point.values, strict=True)
        )
        line = ChartRunLine(
            point.label,
            point.metric,
            "measured",
            values,
            point.direction,
            point.run_ids,
            marks=point.marks,
        )
        lines.setdefault((point.metric, point.direction), line)
    return list(lines.values())
