"""Which charts of one run a report has: its steps second by second, and how long operations took.

Never more than a reader wants: the steps that fell come first, and details only of one step.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from diskbench.cli.report_gather import Gathered
    from diskbench.model.run import Run
    from diskbench.ports import EvidenceStore
    from diskbench.report.charts.figure import Figure
    from diskbench.report.course import Course
    from diskbench.report.trial_report import TrialReport

MOST_COURSES = 6
"""Steps of one run that are drawn second by second."""
LEAST_COURSE_S = 10
LEAST_DETAIL_S = 60
"""A shorter step has no latency over time: its distribution says as much."""
MOST_CURVES = 2


def charts_inside(
    gathered: Gathered, trial: TrialReport, run: Run
) -> tuple[tuple[Figure, ...], int]:
    """The charts of one run, and how many of its steps are not drawn; none where its evidence is
    gone, which costs a page only these."""
    store = gathered.store(run)
    if store is None:
        return (), 0
    try:
        shown, more = _courses(gathered, store, run)
        figures = [*_seconds(store, run, shown), *_spread(gathered, store, run)]
    except DiskbenchError as error:
        if not run.imported:  # which seldom have any
            message = "no series of run %s in the page: %s"
            logging.getLogger(__name__).warning(message, run.run_id, error.message)
        return (), 0
    return (*figures, *_curves(gathered, trial, run)), more


def _courses(gathered: Gathered, store: EvidenceStore, run: Run) -> tuple[Sequence[Course], int]:
    """The courses to be drawn, those that fell first, and how many others there are."""
    found = gathered.courses(store, run)
    # A few seconds say nothing beside others; alone they are all there is.
    long = [one for one in found if one.seconds >= LEAST_COURSE_S or len(found) == 1]
    long.sort(key=lambda one: not (one.phases and one.phases.cliffs))
    return long[:MOST_COURSES], len(long[MOST_COURSES:])


def _seconds(store: EvidenceStore, run: Run, shown: Sequence[Course]) -> Iterator[Figure]:
    from diskbench.report.charts.course import course_chart
    from diskbench.report.charts.course_latency import course_latency_chart
    from diskbench.report.charts.latency_map import latency_map_chart
    from diskbench.report.charts.palette import PAGE
    from diskbench.report.latency_map import latency_maps
    from diskbench.store.log_latencies import latency_seconds

    for one in shown:
        yield course_chart(one, PAGE)
    detailed = next((one for one in shown if one.seconds >= LEAST_DETAIL_S), None)
    if detailed is None:
        return
    if (latencies := course_latency_chart(detailed, PAGE)) is not None:
        yield latencies
    counted = latency_seconds(store, run.run_id, step=detailed.step)
    yield from (latency_map_chart(one, PAGE) for one in latency_maps(counted)[:1])


def _spread(gathered: Gathered, store: EvidenceStore, run: Run) -> Iterator[Figure]:
    from diskbench.report.charts.palette import PAGE
    from diskbench.report.charts.spread_lines import cdf_chart, percentile_chart
    from diskbench.report.distribution import distributions
    from diskbench.store.frames import histogram_frame

    filled = gathered.filled(run)
    found = distributions(histogram_frame(store, run.run_id))
    if spread := [one for one in found if one.step not in filled]:
        yield percentile_chart(spread, PAGE)
        yield cdf_chart(spread, PAGE)


def _curves(gathered: Gathered, trial: TrialReport, run: Run) -> Iterator[Figure]:
    from diskbench.report.charts.load_curve import load_chart
    from diskbench.report.charts.palette import PAGE
    from diskbench.report.load_curve import load_curves

    plan = gathered.plans[run.trial_id]
    curves = load_curves(trial.measurements, trial.warnings, plan)
    yield from (load_chart(one, PAGE) for one in curves[:MOST_CURVES])
