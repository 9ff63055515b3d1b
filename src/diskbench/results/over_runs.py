"""What the runs of a trial say of each step together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from diskbench.analysis.run_course import joint_courses
from diskbench.analysis.setting import FEWEST_FLAT
from diskbench.fio.run_spread import FAR_APART, least_variation
from diskbench.model.doubts import RUNS_DISAGREE

if TYPE_CHECKING:
    from diskbench.analysis.run_course import RunStretch
    from diskbench.model.doubts import Reason
    from diskbench.model.run import Run
    from diskbench.results.step_groups import StepGroup

RunsOf = Sequence[tuple["Run", Sequence["StepGroup"]]]


@dataclass(frozen=True)
class OverRuns:
    """The level of each run of each step, by run and step; how much five or more runs at that level
    vary, as a fraction of their mean; and the doubts of runs that disagree."""

    courses: Mapping[tuple[str, str], RunStretch]
    variation: Mapping[tuple[str, str], float]
    doubts: Mapping[tuple[str, str], tuple[Reason, ...]]


def over_runs(runs_of: RunsOf) -> OverRuns:
    """Return what the runs of one trial, in order, say together."""
    series: dict[str, list[tuple[int, float]]] = {}
    for number, (_, groups) in enumerate(runs_of):
        for group in groups:
            if group.iops:
                series.setdefault(group.name, []).append((number, group.iops))
    courses_of = joint_courses(series)
    courses: dict[tuple[str, str], RunStretch] = {}
    variation: dict[tuple[str, str], float] = {}
    for name, values_of in series.items():
        levels = courses_of[name] or (None,) * len(values_of)
        alike: dict[RunStretch | None, list[float]] = {}
        for (_, value), level in zip(values_of, levels, strict=True):
            alike.setdefault(level, []).append(value)
        vary = {
            level: stdev(values) / fmean(values)
            for level, values in alike.items()
            if len(values) >= FEWEST_FLAT
        }
        for (number, _), level in zip(values_of, levels, strict=True):
            key = runs_of[number][0].run_id, name
            if level is not None:
                courses[key] = level
            if level in vary:
                variation[key] = vary[level]
    least = {
        name: least_variation([value for _, value in values_of])
        for name, values_of in series.items()
    }
    doubts = {}
    for run, groups in runs_of:
        for group in groups:
            key = run.run_id, group.name
            doubts[key] = _disagree(courses.get(key), least.get(group.name))
    return OverRuns(courses, variation, doubts)


def _disagree(course: RunStretch | None, least: float | None) -> tuple[Reason, ...]:
    """A doubt where runs vary by so much (at least `least`) that none stands for the rest, and no
    fall explains it."""
    if least is None or least < FAR_APART or (course is not None and course.kind != "level"):
        return ()
    words = f"its runs vary by at least {least:.0%}, and no fall explains it"
    return (RUNS_DISAGREE.reason(words, weight="with care"),)
