"""Which charts a report has: never more than a reader wants.

Of one trial: the run that was asked for second by second, and all steps beside each other; of
several runs their line. Of several trials: each of the first steps over all of them.
"""

from __future__ import annotations

import logging
from itertools import islice
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from diskbench.cli.report_gather import Gathered, Row
    from diskbench.report.charts.figure import Figure
    from diskbench.report.charts.point import Point
    from diskbench.report.trial_report import Group, TrialReport

MOST_COURSES = 8
"""Steps of one run that are drawn second by second."""
LEAST_COURSE_S = 10
MOST_OVER = 6
"""Charts over several trials or runs."""
LEAST_RUNS = 3
MOST_RUN_LINES = 2
"""Steps that are drawn run after run: those that changed most."""


def charts_inside(gathered: Gathered, run: Row) -> tuple[tuple[Figure, ...], int]:
    """The charts of one run second by second, and how many of its steps are not drawn; none where
    its evidence is gone, which costs a page only these."""
    from diskbench.report.charts.course import course_chart
    from diskbench.report.charts.palette import PAGE
    from diskbench.report.course import courses
    from diskbench.store.frames import series_frame

    store = gathered.store(run)
    if store is None:
        return (), 0
    try:
        series = series_frame(store, run["run_id"])
    except DiskbenchError as error:
        message = "no series of run %s in the page: %s"
        logging.getLogger(__name__).warning(message, run["run_id"], error.message)
        return (), 0
    found = courses(
        series,
        gathered.phases[run["run_id"]],
        gathered.plans[run["trial_id"]],
        run=run["run_index"] + 1,
    )
    filled = _filled(gathered, run)
    found = tuple(one for one in found if one.step not in filled) or found
    long = [one for one in found if one.seconds >= LEAST_COURSE_S] or list(found)
    # Where one fell, that is what a reader came for.
    fallen = [one for one in long if one.phases and one.phases.cliffs]
    ordered = [*fallen, *(one for one in long if one not in fallen)]
    shown = ordered[:MOST_COURSES]
    return tuple(course_chart(one, PAGE) for one in shown), len(long) - len(shown)


def _filled(gathered: Gathered, run: Row) -> frozenset[str]:
    """The steps that only prepare the disk."""
    plan = gathered.plans[run["trial_id"]]
    return frozenset(one.name for one in plan.steps if one.role == "fill") if plan else frozenset()


def charts_over(groups: Sequence[Group], rows: Sequence[Row]) -> tuple[Figure, ...]:
    """The charts over all runs and trials."""
    trials = [trial for group in groups for trial in group.trials]
    if len(trials) > 1:
        return tuple(islice(_of_trials(groups), MOST_OVER))
    return tuple(islice(_of_runs(trials[0], rows), MOST_OVER))


def _of_runs(trial: TrialReport, rows: Sequence[Row]) -> Iterator[Figure]:
    from diskbench.report.charts import PAGE, iops_chart, latency_chart
    from diskbench.report.lines import lines
    from diskbench.report.phase_lines import mixed_steps

    mixed = mixed_steps(trial.phases)  # no figure stands for both of its levels (MR-3)
    found = [one for one in lines(trial.measurements) if one.step not in mixed]
    yield from _run_lines(trial, rows)
    if len(found) > 1:  # one bar is no chart
        yield iops_chart(found, PAGE)
        yield latency_chart(found, PAGE)


def _run_lines(trial: TrialReport, rows: Sequence[Row]) -> Iterator[Figure]:
    """A line a step over the runs of a trial, of the steps that changed most over them."""
    from diskbench.report.charts import PAGE
    from diskbench.report.charts.runs_line import RunLine, runs_chart
    from diskbench.report.lines import lines
    from diskbench.report.row_ids import row_href

    numbers = {row["run_id"]: row["run_index"] + 1 for row in rows}
    if len(numbers) < LEAST_RUNS:
        return
    ids = list(dict.fromkeys(row.run_id for row in trial.measurements))
    told = [one for one in lines(trial.measurements) if one.iops.n == len(ids)]
    told.sort(key=lambda one: one.iops.low / one.iops.high if one.iops.high else 1.0)
    for number, one in enumerate(told[:MOST_RUN_LINES]):
        line = RunLine(
            label=one.step,
            metric="iops",
            origin="measured",
            direction=one.direction,
            values=tuple(
                (numbers[run_id], value) for run_id, value in zip(ids, one.iops.values, strict=True)
            ),
            run_ids=tuple(ids),
            hrefs=tuple(row_href(run_id) for run_id in ids),
        )
        yield runs_chart([line], PAGE, name=f"runs-{number}", heading=f"{one.step}, run after run")


def _of_trials(groups: Sequence[Group]) -> Iterator[Figure]:
    """A chart a step and direction: each subject's trials as points."""
    from diskbench.report.charts import PAGE
    from diskbench.report.charts.bars import bars_chart

    steps: dict[tuple[str, str], list[Point]] = {}
    for group in groups:
        for trial in group.trials:
            for key, point in _points(group, trial):
                steps.setdefault(key, []).append(point)
    for number, ((step, direction), points) in enumerate(steps.items()):
        name = step if direction in step else f"{step} {direction}"
        yield bars_chart(points, PAGE, name=f"trials-{number}", heading=name)


def _points(group: Group, trial: TrialReport) -> Iterator[tuple[tuple[str, str], Point]]:
    from diskbench.report.charts.point import Point
    from diskbench.report.lines import lines
    from diskbench.report.phase_lines import mixed_steps
    from diskbench.report.row_ids import row_href

    mixed = mixed_steps(trial.phases)
    promised = trial.subject.promised
    for one in lines(trial.measurements):
        if one.step in mixed:  # no figure stands for both of its levels
            continue
        yield (
            (one.step, one.direction),
            Point(
                label=group.words,
                metric="iops",
                value=one.iops.median,
                direction=one.direction,
                key=group.words,
                disk=promised.offer if promised else "",
                profile=trial.subject.profile,
                step=one.step,
                values=one.iops.values,
                run_ids=trial.subject.run_ids,
                low=one.iops.low if one.iops.n > 1 else None,
                high=one.iops.high if one.iops.n > 1 else None,
                n=one.iops.n,
                statistic="median",
                href=row_href(trial.trial_id),
                marks=trial.subject.marks,
                machine=trial.machine or trial.trial_id,
            ),
        )
