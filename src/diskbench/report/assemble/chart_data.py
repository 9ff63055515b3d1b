"""The data of charts: the trials of a report, and the seconds of their runs, read when a chart
needs them. If evidence is missing, a report lacks only its charts."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError
from diskbench.report.assemble.course import courses
from diskbench.report.assemble.distribution import distributions
from diskbench.report.assemble.latency_map import latency_maps
from diskbench.report.assemble.load_curve import load_curves
from diskbench.report.assemble.overview import band, by_step
from diskbench.store.frames import histogram_frame, series_frame
from diskbench.store.stored_series import latency_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from diskbench.model.run import Run
    from diskbench.model.spec import Plan
    from diskbench.report.assemble.course import StepCourse
    from diskbench.report.assemble.distribution import Distribution
    from diskbench.report.assemble.latency_map import LatencyMap
    from diskbench.report.assemble.load_curve import LoadCurve
    from diskbench.report.assemble.overview import Band
    from diskbench.report.assemble.report_view import Group
    from diskbench.report.assemble.trial_view import TrialView
    from diskbench.results.run_evidence import EvidenceOfRuns
    from diskbench.results.stored_trial import StoredTrial

MOST_COURSES = 6
"""Steps of one run that are drawn second by second."""
LEAST_COURSE_S = 10
"""A shorter step is not worth a chart second by second beside others."""
LEAST_DETAIL_S = 60
"""A shorter step gets no chart of latency over time: its distribution shows as much."""
LEAST_RUNS = 3
"""Charts over runs need at least this many runs."""
MOST_STEPS = 3
"""Number of steps drawn over several trials or runs: those that most runs have."""


@dataclass(frozen=True)
class ChartData:
    """Trials in groups with their stored form by id, all runs (database rows), and the one `run`
    that is shown in detail. Runs are read one by one, and of many runs only bands are kept, so that
    500 runs of an hour take about 10 MB."""

    groups: tuple[Group, ...]
    stored: Mapping[str, StoredTrial]
    evidence: EvidenceOfRuns
    runs: Sequence[Run]
    run: Run

    @cached_property
    def trials(self) -> tuple[TrialView, ...]:
        """The trials of all groups, in order."""
        return tuple(trial for group in self.groups for trial in group.trials)

    @property
    def single(self) -> TrialView | None:
        """The only trial; None if there are several."""
        return self.trials[0] if len(self.trials) == 1 else None

    @property
    def plan(self) -> Plan | None:
        """The plan of the run that is shown in detail; None for an imported run."""
        return self.stored[self.run.trial_id].plan

    def meets(self, need: str) -> bool:
        """Whether a chart's need is met, as far as that is known without evidence."""
        match need:
            case "one trial":
                return self.single is not None
            case "several trials":
                return self.single is None
            case "the evidence of three runs or more":
                return len(self.runs) >= LEAST_RUNS
            case _:
                return self.evidence.store(self.run) is not None

    @cached_property
    def courses(self) -> tuple[StepCourse, ...]:
        """The steps of the run to be drawn second by second, those that fell first."""
        return tuple(self._courses[:MOST_COURSES])

    @property
    def courses_left_out(self) -> int:
        """The number of further steps that could be drawn."""
        return len(self._courses[MOST_COURSES:])

    @cached_property
    def detailed(self) -> StepCourse | None:
        """The step whose latencies are drawn over time: the first that is long enough."""
        return next((course for course in self.courses if course.seconds >= LEAST_DETAIL_S), None)

    @cached_property
    def latency_maps(self) -> tuple[LatencyMap, ...]:
        """Latencies over time of the detailed step; empty without latency logs."""
        store = self.evidence.store(self.run)
        if self.detailed is None or store is None:
            return ()
        try:
            seconds = latency_seconds(store, self.run.run_id, step=self.detailed.step)
        except DiskbenchError as error:
            self._warn("latencies", self.run, error)
            return ()
        return tuple(latency_maps(seconds))

    @cached_property
    def distributions(self) -> tuple[Distribution, ...]:
        """The latency distribution of each measured step of the run."""
        store = self.evidence.store(self.run)
        if store is None:
            return ()
        try:
            spreads = distributions(histogram_frame(store, self.run.run_id))
        except DiskbenchError as error:
            self._warn("histogram", self.run, error)
            return ()
        filled = self._filled(self.run)
        return tuple(spread for spread in spreads if spread.step not in filled)

    @cached_property
    def load_curves(self) -> tuple[LoadCurve, ...]:
        """Latency over throughput of the run's trial, a curve per family of steps."""
        trial = next(
            trial.trial for trial in self.trials if trial.trial.trial_id == self.run.trial_id
        )
        return tuple(load_curves(trial.measurements, trial.warnings, self.plan))

    @cached_property
    def bands(self) -> tuple[Sequence[Band], ...]:
        """The seconds of all runs step by step, of the steps that most runs have."""
        bands = [band(course) for row in self.runs for course in self.courses_of(row)]
        return tuple(of_step for of_step in by_step(bands) if len(of_step) >= LEAST_RUNS)[
            :MOST_STEPS
        ]

    def courses_of(self, row: Run) -> tuple[StepCourse, ...]:
        """The steps of a run of ten seconds or more, in the order of the plan."""
        return tuple(course for course in self._read(row) if course.seconds >= LEAST_COURSE_S)

    @cached_property
    def _courses(self) -> list[StepCourse]:
        courses = self._read(self.run)
        # A short step is left out beside others; alone it is all there is.
        long = [
            course for course in courses if course.seconds >= LEAST_COURSE_S or len(courses) == 1
        ]
        return sorted(long, key=lambda course: not (course.phases and course.phases.cliffs))

    def _read(self, row: Run) -> tuple[StepCourse, ...]:
        store = self.evidence.store(row)
        if store is None:
            return ()
        trial, run_id = self.stored[row.trial_id], row.run_id
        filled = self._filled(row)
        try:
            return courses(
                series_frame(store, run_id),
                tuple(phase for phase in trial.phases if phase.run_id == run_id),
                trial.plan,
                run=row.number,
                expectations={
                    at: expectation
                    for (whose, at), expectation in trial.foreseen.items()
                    if whose == run_id
                },
                is_selected=lambda step: step not in filled,
            )
        except DiskbenchError as error:
            self._warn("series", row, error)
            return ()

    def _filled(self, row: Run) -> frozenset[str]:
        """The steps of a run that only prepare the disk."""
        plan = self.stored[row.trial_id].plan
        return frozenset(step.name for step in (plan.steps if plan else ()) if step.role == "fill")

    def _warn(self, part: str, row: Run, error: DiskbenchError) -> None:
        """Log what a report lacks; imported runs seldom have seconds, and a few of many runs may
        lack them."""
        seldom = row.imported or self.single is None
        level = logging.INFO if seldom else logging.WARNING
        message = "no %s of run %s in the page: %s"
        logging.getLogger(__name__).log(level, message, part, row.run_id, error.message)
