"""The lasting level of each step of a trial, for charts over runs and trials."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from diskbench.analysis.shown import shown, verdicts_by_step
from diskbench.model.verdict import trust_words
from diskbench.report.assemble.large_blocks import rate_metric
from diskbench.report.assemble.row_ids import row_href
from diskbench.report.charts.measure import title
from diskbench.report.charts.point import ChartPoint

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from diskbench.model.verdict import Verdict
    from diskbench.report.assemble.report_view import Group
    from diskbench.report.assemble.trial_view import TrialView


@dataclass(frozen=True)
class StepValue:
    """The rate of one step of one trial, and of each run: bytes per second for large blocks, else
    IOPS; `kind` is the kind of its level."""

    step: str
    direction: str
    metric: Literal["iops", "bytes_per_s"]
    values: tuple[float, ...]
    run_ids: tuple[str, ...]
    value: float
    kind: str = ""


def step_values(view: TrialView) -> list[StepValue]:
    """The steps of a trial: from their verdicts, else from the rows. If a step fell within a run,
    its value is the lasting level: a mean over both levels describes neither (MR-3)."""
    trial = view.trial
    if not trial.verdicts:
        ids = tuple(dict.fromkeys(row.run_id for row in trial.measurements))
        return [
            StepValue(line.step, line.direction, "iops", line.by_run, ids, line.iops.median)
            for line in view.lines
            if line.iops is not None and line.runs == len(ids) and min(line.by_run)
        ]
    values = []
    for step, verdicts in verdicts_by_step(trial.verdicts).items():
        main = shown([of for of in verdicts if of.stands_for.iops] or verdicts).stands_for
        metric = rate_metric(main.iops, main.bytes_per_s)
        rates = {
            verdict.run_id: rate
            for verdict in verdicts
            if (rate := getattr(verdict.stands_for, metric))
        }
        if rates:
            value, kind = getattr(main, metric), main.kind or ""
            figures, ids = tuple(rates.values()), tuple(rates)
            values.append(StepValue(step, "total", metric, figures, ids, value, kind))
    return values


def points_by_step(groups: Sequence[Group], least: int = 2) -> dict[str, list[ChartPoint]]:
    """Steps of `least` trials or more, by step and direction, a point per trial; labels leave out
    the words that all of them share."""
    steps: dict[tuple[str, str, str], list[ChartPoint]] = {}
    for group in groups:
        for view in group.trials:
            for value in step_values(view):
                key = value.step, value.direction, value.metric
                steps.setdefault(key, []).append(_point(group, view, value))
    return {
        _heading(step, direction, metric, steps): _distinct_labels(of)
        for (step, direction, metric), of in steps.items()
        if len(of) >= least
    }


def _heading(step: str, direction: str, metric: str, known: Collection[tuple[str, ...]]) -> str:
    """The step, with what distinguishes it: its direction, and its unit if trials measured a step
    of this name in small and in large blocks."""
    name = step if direction == "total" or direction in step else f"{step} {direction}"
    units = {unit for of, way, unit in known if (of, way) == (step, direction)}
    return name if len(units) == 1 else f"{name}, {title(metric)}"


def _distinct_labels(points: Sequence[ChartPoint]) -> list[ChartPoint]:
    """Points whose labels lack the words shared by all; the first word (the kind) is kept."""
    parts = [point.label.split(", ") for point in points]
    if len(set(map(tuple, parts))) == 1:
        return list(points)
    shared = set(parts[0]).intersection(*parts[1:])
    return [
        replace(point, label=", ".join([of[0], *(part for part in of[1:] if part not in shared)]))
        for point, of in zip(points, parts, strict=True)
    ]


def _point(group: Group, view: TrialView, value: StepValue) -> ChartPoint:
    trial = view.trial
    promised = trial.subject.promised
    region, _, _ = trial.place.partition(",")
    several = len(value.values) > 1
    return ChartPoint(
        label=group.name,
        metric=value.metric,
        value=value.value,
        direction=value.direction,
        key=trial.trial_id,
        region=region,
        disk=promised.offer if promised else "",
        profile=trial.subject.profile,
        step=" ".join(filter(None, (value.step, value.kind))),
        values=value.values,
        run_ids=trial.subject.run_ids,
        low=min(value.values) if several else None,
        high=max(value.values) if several else None,
        n=len(value.values),
        statistic="median",
        when=trial.runs[0].when,
        href=row_href(trial.trial_id),
        marks=trial.subject.marks,
        machine=trial.machine or trial.trial_id,
        doubt=_doubt(trial.verdicts, value),
    )


def _doubt(verdicts: Sequence[Verdict], value: StepValue) -> str:
    """Why none of the runs behind the figure is trusted; empty if any is trusted."""
    of_step = [verdict for verdict in verdicts if verdict.step == value.step]
    if not of_step or any(verdict.trust != "no" for verdict in of_step):
        return ""
    return trust_words("no", of_step[0].reasons).partition(": ")[2]
