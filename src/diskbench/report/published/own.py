"""Own trials on a chart of published figures, and why others do not match it: one point per trial
and figure, the mean over its runs, because the posts give means (beside.py)."""

from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy.engine import Engine

from diskbench.analysis.drift import fall_of
from diskbench.catalog.books import Books
from diskbench.catalog.published import Published, load_published
from diskbench.model.ids import short
from diskbench.model.run import Run
from diskbench.model.verdict import trust_words
from diskbench.parallel import grouped
from diskbench.plan.published import RunSubject, asked_of, matching, nearest
from diskbench.report.assemble.subject import marks_of
from diskbench.report.charts.measure import with_unit
from diskbench.report.charts.point import ChartPoint
from diskbench.report.charts.runs_line import cliff
from diskbench.report.published.beside import figure_beside
from diskbench.report.published.draw import PostChart, of_outlook, predicted_cliffs, short_label
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
) -> tuple[tuple[ChartPoint, ...], tuple[str, ...]]:
    """The trials of these runs (database rows) that match figures of a chart: points whose `key` is
    the id of the figure, and their measured and predicted cliffs; and why the others are left out.
    Without `include_emulated`, only measurements of a cloud's disk count."""
    points: list[ChartPoint] = []
    left_out: list[str] = []
    for of_trial in grouped(runs, lambda run: run.trial_id).values():
        marks, first = marks_of(of_trial), of_trial[0]
        asked = asked_of(first, find_plan(database, first.trial_id))
        matched = matching(asked, chart.of(load_published()))
        if marks and not include_emulated:
            what = f"{short(first.run_id)} is {', '.join(marks)}: it is not a figure of a cloud's"
            left_out.append(f"{what} disk; --include-emulated draws it anyway")
        elif not matched:
            left_out.append(f"{short(first.run_id)}{_why_not(asked)}")
        else:
            (trial,) = read_trials(database, {first.trial_id: of_trial}, evidence, books).values()
            found = [point for one in matched if (point := _point(trial, one, marks))]
            points += [*found, *_cliffs(trial, found)] if found else []
    return tuple(dict.fromkeys(points)), tuple(dict.fromkeys(left_out))


def _why_not(asked: RunSubject) -> str:
    """Why a trial matches nothing in a chart: its disk is on other charts, or on none."""
    if matched := matching(asked, load_published()):
        disks = ", ".join(dict.fromkeys(figure.group for figure in matched))
        return f" matches {disks}, which this chart does not show"
    why_not, near = nearest(asked, load_published())
    return f": {why_not} ({near[0].name}: {near[0].why})"


_APART = 2.0
"""Runs that differ by this factor belong to different regimes. Our choice."""


def _cliffs(trial: Trial, points: Sequence[ChartPoint]) -> Iterator[ChartPoint]:
    """Where its plan says that it falls, and where it fell: between runs, else within one."""
    yield from predicted_cliffs(trial.plan.expectation if trial.plan else None, of="yours")
    falls = []
    for point in points:  # the run from which on a figure stays low
        if (fall := fall_of(point.values)) is not None:
            before, after = (with_unit(point.metric, at) for at in (fall.before, fall.after))
            words = f"found: {point.step}, from {before} or more to {after} or less"
            falls.append(cliff(point.numbers[fall.at], "measured", words))
    numbers = {run.run_id: run.number for run in trial.runs}
    fallen = [phase for phase in trial.phases if phase.cliffs and phase.run_id in numbers]
    if falls:
        yield min(falls, key=lambda mark: mark.value)
    elif fallen:
        first = min(fallen, key=lambda phase: (numbers[phase.run_id], phase.step_index))
        within, number = first.cliffs[0], numbers[first.run_id]
        rates = f"from {within.before:,.0f} to {within.after:,.0f}"
        words = f"found: in run {number}, {first.step}, after {within.at_s:.0f} s, {rates}"
        yield cliff(number, "measured", words)


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
        doubt=_doubt(trial, figure.step, by_run, joined.runs),
        machine=first.machine(rented=rental is not None),
    )
    return of_outlook(point, trial.plan.expectation if trial.plan else None)


def _doubt(trial: Trial, step: str, by_run: Mapping[str, float], count: int) -> str:
    """The doubt about a mean over the last `count` runs, which with and without credit describes
    neither (MR-3); else why the first step of a run that is not trusted is doubted."""
    values = list(by_run.values())[-count:]
    if len(values) > 1 and max(values) >= _APART * min(values):
        return "the mean covers runs at different levels: look at each run (a chart of throttling)"
    for verdict in trial.verdicts:
        if verdict.step == step and verdict.run_id in by_run and verdict.trust != "yes":
            return trust_words(verdict.trust, verdict.reasons).removeprefix("with care: ")
    return ""
