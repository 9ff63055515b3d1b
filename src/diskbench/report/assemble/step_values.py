"""What a trial lastingly gave, step by step, as charts over runs and trials draw it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from diskbench.analysis.shown import shown, verdicts_by_step
from diskbench.model.verdict import believe_words
from diskbench.report.assemble.row_ids import row_href
from diskbench.report.charts.point import ChartPoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.verdict import Verdict
    from diskbench.report.assemble.report_view import Group
    from diskbench.report.assemble.trial_view import TrialView


@dataclass(frozen=True)
class StepValue:
    """The figure of one step of one trial in IOPS, and that of each run; `kind` is the level that
    it is of."""

    step: str
    direction: str
    values: tuple[float, ...]
    run_ids: tuple[str, ...]
    value: float
    kind: str = ""


def step_values(view: TrialView) -> list[StepValue]:
    """The steps of a trial: as they were judged, else as its rows say. Of a run in which a step
    fell it is the level that lasts: a mean over both is neither (MR-3)."""
    trial = view.trial
    if not trial.verdicts:
        ids = tuple(dict.fromkeys(row.run_id for row in trial.measurements))
        return [
            StepValue(one.step, one.direction, one.by_run, ids, one.iops.median)
            for one in view.lines
            if one.runs == len(ids) and min(one.by_run)
        ]
    values = []
    for step, verdicts in verdicts_by_step(trial.verdicts).items():
        rates = {one.run_id: one.stands_for.iops for one in verdicts if one.stands_for.iops}
        if rates:
            main = shown([one for one in verdicts if one.run_id in rates]).stands_for
            told, ids = tuple(rates.values()), tuple(rates)
            values.append(StepValue(step, "total", told, ids, main.iops or 0.0, main.kind or ""))
    return values


def points_by_step(groups: Sequence[Group], least: int = 2) -> dict[str, list[ChartPoint]]:
    """Steps of `least` trials or more, by the name of step and direction, a point a trial; labels
    leave out what all of them share."""
    steps: dict[tuple[str, str], list[ChartPoint]] = {}
    for group in groups:
        for view in group.trials:
            for one in step_values(view):
                steps.setdefault((one.step, one.direction), []).append(_point(group, view, one))
    return {
        step if direction == "total" or direction in step else f"{step} {direction}": _told_apart(
            of
        )
        for (step, direction), of in steps.items()
        if len(of) >= least
    }


def _told_apart(points: Sequence[ChartPoint]) -> list[ChartPoint]:
    """Labels without the words that all of them have, the first (what it is) left as it is."""
    parts = [one.label.split(", ") for one in points]
    if len(set(map(tuple, parts))) == 1:
        return list(points)
    shared = set(parts[0]).intersection(*parts[1:])
    return [
        replace(one, label=", ".join([of[0], *(part for part in of[1:] if part not in shared)]))
        for one, of in zip(points, parts, strict=True)
    ]


def _point(group: Group, view: TrialView, one: StepValue) -> ChartPoint:
    trial = view.trial
    promised = trial.subject.promised
    region, _, _ = trial.place.partition(",")
    several = len(one.values) > 1
    return ChartPoint(
        label=group.name,
        metric="iops",
        value=one.value,
        direction=one.direction,
        key=trial.trial_id,
        region=region,
        disk=promised.offer if promised else "",
        profile=trial.subject.profile,
        step=" ".join(filter(None, (one.step, one.kind))),
        values=one.values,
        run_ids=trial.subject.run_ids,
        low=min(one.values) if several else None,
        high=max(one.values) if several else None,
        n=len(one.values),
        statistic="median",
        when=trial.runs[0].when,
        href=row_href(trial.trial_id),
        marks=trial.subject.marks,
        machine=trial.machine or trial.trial_id,
        doubt=_doubt(trial.verdicts, one),
    )


def _doubt(verdicts: Sequence[Verdict], one: StepValue) -> str:
    """Why none of the runs that the figure is of is to be believed; empty where one is."""
    told = [found for found in verdicts if found.step == one.step]
    if not told or any(found.believe != "no" for found in told):
        return ""
    return believe_words("no", told[0].reasons).partition(": ")[2]
