"""The data of charts: the trials of a report, and the seconds of their runs, read when a chart
needs them; of each trial the lasting level of its steps, for charts over trials. If evidence is
missing, a report lacks only its charts."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from diskbench.analysis.shown import shown, verdicts_by_step
from diskbench.errors import DiskbenchError
from diskbench.model.run import Run
from diskbench.model.spec import Plan
from diskbench.model.verdict import trust_words
from diskbench.ports import EvidenceStore
from diskbench.report.assemble.course import Band, StepCourse, band, by_step, courses
from diskbench.report.assemble.latencies import Distribution, LatencyMap, distributions, latency_map
from diskbench.report.assemble.loads import LoadCurve, load_curves
from diskbench.report.assemble.report_view import Group
from diskbench.report.assemble.side_by_side import short_names
from diskbench.report.assemble.view import View
from diskbench.report.assemble.words import rate_metric, row_href
from diskbench.report.charts.measure import title
from diskbench.report.charts.point import ChartPoint
from diskbench.results.run_evidence import EvidenceOfRuns
from diskbench.results.trial import Trial
from diskbench.store.frames import histogram_frame, series_frame
from diskbench.store.stored_series import latency_seconds

Part = TypeVar("Part")
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
    stored: Mapping[str, Trial]
    evidence: EvidenceOfRuns
    runs: Sequence[Run]
    run: Run

    @cached_property
    def trials(self) -> tuple[View, ...]:
        return tuple(trial for group in self.groups for trial in group.trials)

    @property
    def single(self) -> View | None:
        return self.trials[0] if len(self.trials) == 1 else None

    @property
    def plan(self) -> Plan | None:
        """The plan of the run that is shown in detail; None for an imported run."""
        return self.stored[self.run.trial_id].plan

    def meets(self, need: str) -> bool:
        """Whether a chart's need is met, as far as that is known without evidence."""
        if need in ("one trial", "several trials"):
            return (self.single is not None) == (need == "one trial")
        if need == "the evidence of three runs or more":
            return len(self.runs) >= LEAST_RUNS
        return self.evidence.store(self.run) is not None

    @cached_property
    def courses(self) -> tuple[StepCourse, ...]:
        """The steps of the run to be drawn second by second, those that fell first."""
        return tuple(self._courses[:MOST_COURSES])

    @property
    def courses_left_out(self) -> int:
        return len(self._courses[MOST_COURSES:])

    @cached_property
    def detailed(self) -> StepCourse | None:
        """The step whose latencies are drawn over time: the first that is long enough."""
        return next((course for course in self.courses if course.seconds >= LEAST_DETAIL_S), None)

    @cached_property
    def latency_map(self) -> LatencyMap | None:
        """Latencies over time of the detailed step; None without latency logs."""
        if (detailed := self.detailed) is None:
            return None
        return self._known(
            "latencies",
            self.run,
            lambda store, id_: latency_map(latency_seconds(store, id_, step=detailed.step)),
        )

    @cached_property
    def distributions(self) -> tuple[Distribution, ...]:
        """The latency distribution of each measured step of the run."""
        filled = self._filled(self.run)
        found = self._known(
            "histogram", self.run, lambda store, id_: distributions(histogram_frame(store, id_))
        )
        return tuple(spread for spread in found or () if spread.step not in filled)

    @cached_property
    def load_curves(self) -> tuple[LoadCurve, ...]:
        """Latency over throughput of the run's trial, a curve per family of steps."""
        trial = next(view for view in self.trials if view.trial_id == self.run.trial_id)
        return tuple(load_curves(trial.measurements, trial.warnings, self.plan))

    @cached_property
    def bands(self) -> tuple[Sequence[Band], ...]:
        """The seconds of all runs step by step, of the steps that most runs have."""
        bands = [band(course) for row in self.runs for course in self.courses_of(row)]
        enough = [of_step for of_step in by_step(bands) if len(of_step) >= LEAST_RUNS]
        return tuple(enough[:MOST_STEPS])

    def courses_of(self, row: Run) -> tuple[StepCourse, ...]:
        """The steps of a run of ten seconds or more, in the order of the plan."""
        return tuple(course for course in self._read(row) if course.seconds >= LEAST_COURSE_S)

    @cached_property
    def _courses(self) -> list[StepCourse]:
        # A short step is left out beside others; alone it is all there is.
        every = self._read(self.run)
        long = [one for one in every if one.seconds >= LEAST_COURSE_S or len(every) == 1]
        return sorted(long, key=lambda course: not (course.phases and course.phases.cliffs))

    def _read(self, row: Run) -> tuple[StepCourse, ...]:
        trial, filled = self.stored[row.trial_id], self._filled(row)

        def read(store: EvidenceStore, run_id: str) -> tuple[StepCourse, ...]:
            known = trial.foreseen.items()
            return courses(
                series_frame(store, run_id),
                [phase for phase in trial.phases if phase.run_id == run_id],
                trial.plan,
                run=row.number,
                expectations={at: of for (whose, at), of in known if whose == run_id},
                is_selected=lambda step: step not in filled,
            )

        return self._known("series", row, read) or ()

    def _filled(self, row: Run) -> frozenset[str]:
        """The steps of a run that only prepare the disk."""
        plan = self.stored[row.trial_id].plan
        return frozenset(step.name for step in (plan.steps if plan else ()) if step.role == "fill")

    def _known(
        self, part: str, row: Run, read: Callable[[EvidenceStore, str], Part]
    ) -> Part | None:
        """What `read` finds of a run; None without its evidence. What a report lacks is logged:
        imported runs seldom have seconds, and a few of many runs may lack them."""
        store = self.evidence.store(row)
        try:
            return None if store is None else read(store, row.run_id)
        except DiskbenchError as error:
            level = logging.INFO if row.imported or self.single is None else logging.WARNING
            message = "no %s of run %s in the page: %s"
            logging.getLogger(__name__).log(level, message, part, row.run_id, error.message)
            return None


def step_points(view: View) -> list[ChartPoint]:
    """The steps of a trial: from their verdicts, else from the rows. The figure is in bytes per
    second for large blocks, else IOPS; `step` ends in the kind of its level. If a step fell within
    a run, its figure is the lasting level: a mean over both levels describes neither (MR-3)."""
    if not view.verdicts:
        ids = tuple(dict.fromkeys(row.run_id for row in view.measurements))
        return [
            _point(view, line.step, line.direction, "iops", by_run, line.iops.median)
            for line in view.lines
            if line.iops is not None and line.runs == len(ids) and min(line.by_run)
            for by_run in [dict(zip(ids, line.by_run, strict=True))]
        ]
    points = []
    for step, verdicts in verdicts_by_step(view.verdicts).items():
        main = shown([of for of in verdicts if of.stands_for.iops] or verdicts).stands_for
        metric = rate_metric(main.iops, main.bytes_per_s)
        found = ((verdict.run_id, getattr(verdict.stands_for, metric)) for verdict in verdicts)
        rates = {run_id: rate for run_id, rate in found if rate}
        if rates:
            point = _point(view, step, "total", metric, rates, getattr(main, metric))
            step_words = " ".join(filter(None, (step, main.kind)))
            # One run that is trusted is enough.
            none = all(verdict.trust == "no" for verdict in verdicts)
            why = trust_words("no", verdicts[0].reasons).partition(": ")[2] if none else ""
            points.append(replace(point, step=step_words, doubt=why))
    return points


def _point(
    view: View, step: str, direction: str, metric: str, by_run: Mapping[str, float], value: float
) -> ChartPoint:
    values = tuple(by_run.values())
    low, high = (min(values), max(values)) if len(values) > 1 else (None, None)
    return ChartPoint(
        label=step, metric=metric, value=value, direction=direction, key=view.trial_id,
        region=view.place.partition(",")[0], step=step, values=values, run_ids=tuple(by_run),
        low=low, high=high, n=len(values), statistic="median", when=view.runs[0].at,
        href=row_href(view.trial_id), marks=view.subject.marks,
        machine=view.machine or view.trial_id,
    )  # fmt: skip


def points_by_step(groups: Sequence[Group]) -> dict[str, list[ChartPoint]]:
    """Steps of two trials or more, by step and direction, a point per trial; labels leave out the
    words that all of them share."""
    steps: dict[tuple[str, str, str], list[ChartPoint]] = {}
    for group in groups:
        for point in (point for view in group.trials for point in step_points(view)):
            key = point.label, point.direction, point.metric
            steps.setdefault(key, []).append(replace(point, label=group.name))
    drawn = {}
    for (step, direction, metric), of in steps.items():
        if len(of) > 1:
            names = short_names(dict.fromkeys(point.label for point in of))
            points = [replace(point, label=names[point.label]) for point in of]
            drawn[_heading(step, direction, metric, steps)] = points
    return drawn


def _heading(step: str, direction: str, metric: str, known: Collection[tuple[str, ...]]) -> str:
    """The step, with what distinguishes it: its direction, and its unit if trials measured a step
    of this name in small and in large blocks."""
    name = step if direction == "total" or direction in step else f"{step} {direction}"
    units = {unit for of, way, unit in known if (of, way) == (step, direction)}
    return name if len(units) == 1 else f"{name}, {title(metric)}"
