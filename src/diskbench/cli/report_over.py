"""Which charts over runs and trials a report has.

Of one trial: its steps beside each other and beside what was promised, and its runs one after the
other. Of several trials: each of the first steps over all of them, by disk, region and hour where
these differ, and what the disks cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from diskbench.report.row_ids import row_href

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from diskbench.model.run import Run
    from diskbench.model.spec import Plan
    from diskbench.model.verdict import Verdict
    from diskbench.report.charts.figure import Figure
    from diskbench.report.charts.point import Point
    from diskbench.report.charts.promised import Held
    from diskbench.report.charts.runs_line import CliffMark
    from diskbench.report.charts.spread import By
    from diskbench.report.lines import Line
    from diskbench.report.trial_report import Group, TrialReport

MOST_FIGURES = 8
MOST_STEPS = 3
"""Steps that are drawn over several trials."""
MOST_BARS = 40
"""Subjects beyond which a bar each is no picture: then it is how far they lie apart."""
LEAST_RUNS = 3
MOST_RUN_LINES = 2
"""Steps that are drawn run after run: those that changed most."""
LEAST_APART = 4
"""Fewer trials say nothing of regions and hours."""
_APART: dict[By, str] = {"region": "region", "hour": "hour of the day (UTC)"}


def charts_over(
    groups: Sequence[Group], rows: Sequence[Run], plan: Plan | None = None
) -> tuple[Figure, ...]:
    """The charts over all runs and trials; `plan` is that of a trial that is alone."""
    trials = [trial for group in groups for trial in group.trials]
    found = _of_trials(groups) if len(trials) > 1 else _of_runs(trials[0], rows, plan)
    return tuple(islice(found, MOST_FIGURES))


def _of_runs(trial: TrialReport, rows: Sequence[Run], plan: Plan | None) -> Iterator[Figure]:
    from diskbench.report.charts import PAGE, iops_chart, latency_chart
    from diskbench.report.charts.promised import promised_chart

    found = _lines(trial)
    yield from _run_lines(trial, rows, plan)
    held = [one for verdict in _shown(trial) if (one := _held(trial, verdict)) is not None]
    if len(held) > 1:  # one bar is no chart
        yield promised_chart(held, PAGE, name="promised", heading="Measured against promised")
    if len(found) > 1:
        yield iops_chart(found, PAGE)
        if any(one.p50_ns or one.max_ns for one in found):
            yield latency_chart(found, PAGE)


def _lines(trial: TrialReport) -> list[Line]:
    """The figures of a trial, step by step."""
    from diskbench.report.lines import trial_lines

    return list(trial_lines(trial))


def _run_lines(trial: TrialReport, rows: Sequence[Run], plan: Plan | None) -> Iterator[Figure]:
    from diskbench.report.charts import PAGE
    from diskbench.report.charts.runs_line import RunLine, runs_chart

    numbers = {row.run_id: row.number for row in rows}
    if len(numbers) < LEAST_RUNS:
        return
    # Of a run in which it fell the level that lasts: a mean over both is neither (MR-3).
    told = sorted(_values(trial), key=lambda one: min(one.values) / max(one.values))
    for number, one in enumerate(told[:MOST_RUN_LINES]):
        line = RunLine(
            label=one.step,
            metric="iops",
            origin="measured",
            direction=one.direction,
            values=tuple(
                (numbers[run_id], value)
                for run_id, value in zip(one.run_ids, one.values, strict=True)
            ),
            run_ids=one.run_ids,
            hrefs=tuple(row_href(run_id) for run_id in one.run_ids),
        )
        yield runs_chart(
            [line],
            PAGE,
            name=f"runs-{number}",
            heading=f"{one.step}, run after run",
            cliffs=_cliffs(trial, one.step, numbers, plan),
        )


def _cliffs(
    trial: TrialReport, step: str, numbers: Mapping[str, int], plan: Plan | None
) -> list[CliffMark]:
    """The run in which credit should have run out, and the one in which a step fell."""
    from diskbench.report.charts.runs_line import CliffMark

    expected = plan.expectation.credits if plan and plan.expectation else ()
    gone = [one for one in expected if one.gone_s is not None and one.step == step]
    marks = [CliffMark(one.run or 1, "predicted") for one in gone[:1]]
    fell = [one for one in trial.phases if one.step == step and one.cliffs]
    return marks + [CliffMark(numbers[one.run_id], "measured") for one in fell[:1]]


def _shown(trial: TrialReport) -> list[Verdict]:
    """The verdict on each step in the run that its figure is of."""
    from diskbench.analysis.shown import shown

    steps: dict[str, list[Verdict]] = {}
    for one in trial.verdicts:
        steps.setdefault(one.step, []).append(one)
    return [shown(of_step) for of_step in steps.values()]


def _held(trial: TrialReport, verdict: Verdict) -> Held | None:
    """The figure of a step beside its promise; None where nothing is promised, or nothing told."""
    from diskbench.report.charts.point import Point
    from diskbench.report.charts.promised import Held, Promise
    from diskbench.report.result_rows import trial_name

    main = verdict.stands_for
    told = main.promised
    if told is None or not told.iops or not main.iops:
        return None
    burst = next((one.promised for one in verdict.stretches if one.kind == "burst"), None)
    point = Point(
        label=verdict.step,
        metric="iops",
        value=main.iops,
        step=verdict.step,
        run_ids=(verdict.run_id,),
        n=1,
        statistic="mean",
        href=row_href(trial_name(trial), verdict.step),
        marks=trial.subject.marks,
        machine=trial.machine,
    )
    promise = Promise(
        value=told.iops,
        low=told.low_iops,
        high=told.high_iops,
        burst=burst.iops if burst else None,
        source=told.source,
    )
    return Held(point, promise, on_credit=main.kind == "burst")


@dataclass(frozen=True)
class _Value:
    """The figure of one step of one trial, and that of each run; `kind` is the level that it is
    of."""

    step: str
    direction: str
    values: tuple[float, ...]
    run_ids: tuple[str, ...]
    value: float
    kind: str = ""


def _values(trial: TrialReport) -> list[_Value]:
    """What a trial lastingly gave, step by step: as it was judged, else as its rows say."""
    from diskbench.analysis.shown import shown

    if not trial.verdicts:
        ids = tuple(dict.fromkeys(row.run_id for row in trial.measurements))
        return [
            _Value(one.step, one.direction, one.by_run, ids, one.iops.median)
            for one in _lines(trial)
            if one.runs == len(ids) and min(one.by_run)
        ]
    found: dict[str, list[Verdict]] = {}
    for one in trial.verdicts:
        found.setdefault(one.step, []).append(one)
    values = []
    for step, verdicts in found.items():
        rates = {one.run_id: one.stands_for.iops for one in verdicts if one.stands_for.iops}
        if rates:
            main = shown([one for one in verdicts if one.run_id in rates]).stands_for
            told, ids = tuple(rates.values()), tuple(rates)
            values.append(_Value(step, "total", told, ids, main.iops or 0.0, main.kind or ""))
    return values


def _of_trials(groups: Sequence[Group]) -> Iterator[Figure]:
    from diskbench.report.charts import PAGE
    from diskbench.report.charts.bars import bars_chart
    from diskbench.report.charts.spread import Group as Values
    from diskbench.report.charts.spread import groups_of, spread_chart, undated

    steps: dict[tuple[str, str], list[Point]] = {}
    for group in groups:
        for trial in group.trials:
            for one in _values(trial):
                steps.setdefault((one.step, one.direction), []).append(_point(group, trial, one))
    several = {key: _told_apart(points) for key, points in steps.items() if len(points) > 1}
    for number, ((step, direction), points) in enumerate(islice(several.items(), MOST_STEPS)):
        name = step if direction == "total" or direction in step else f"{step} {direction}"
        labels = len({one.label for one in points})
        if labels > MOST_BARS:
            every = [Values(f"{labels} subjects", tuple(points))]
            yield spread_chart(every, PAGE, name=f"trials-{number}", heading=name, samples=True)
        elif labels > 1:
            yield bars_chart(points, PAGE, name=f"trials-{number}", heading=name)
        else:
            by_label = groups_of(points, "label")
            yield spread_chart(by_label, PAGE, name=f"trials-{number}", heading=name)
        if len(points) < LEAST_APART:
            continue
        for by, what in _APART.items():
            apart = groups_of(points, by)
            if len(apart) > 1:
                yield spread_chart(
                    apart,
                    PAGE,
                    name=f"{by}-{number}",
                    heading=f"{name} by {what}",
                    left_out=undated(points) if by == "hour" else "",
                )
    yield from _prices(groups, several)


def _told_apart(points: Sequence[Point]) -> list[Point]:
    """Labels without the words that all of them have, the first (what it is) left as it is."""
    parts = [one.label.split(", ") for one in points]
    if len(set(map(tuple, parts))) == 1:
        return list(points)
    shared = set(parts[0]).intersection(*parts[1:])
    return [
        replace(one, label=", ".join([of[0], *(part for part in of[1:] if part not in shared)]))
        for one, of in zip(points, parts, strict=True)
    ]


def _prices(groups: Sequence[Group], steps: dict[tuple[str, str], list[Point]]) -> Iterator[Figure]:
    """What the disks cost beside what they gave, in the first step."""
    from diskbench.report.charts import PAGE
    from diskbench.report.charts.price import Priced, price_chart

    usd = {
        trial.trial_id: trial.price.total_usd
        for group in groups
        for trial in group.trials
        if trial.price and trial.price.total_usd
    }
    for (step, _), points in islice(steps.items(), 1):
        priced = [Priced(one, usd[one.key]) for one in points if one.key in usd]
        if len({one.point.label for one in priced}) > 1:
            yield price_chart(
                priced,
                PAGE,
                name="prices",
                heading=f"{step}: what it costs",
                prices_of="the catalogue, as it was when it was measured",
            )


def _point(group: Group, trial: TrialReport, one: _Value) -> Point:
    from diskbench.report.charts.point import Point

    promised = trial.subject.promised
    region, _, _ = trial.place.partition(",")
    several = len(one.values) > 1
    return Point(
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
        doubt=_doubt(trial, one),
    )


def _doubt(trial: TrialReport, one: _Value) -> str:
    """Why none of the runs that the figure is of is to be believed; empty where one is."""
    from diskbench.model.verdict import believe_words

    told = [found for found in trial.verdicts if found.step == one.step]
    if not told or any(found.believe != "no" for found in told):
        return ""
    return believe_words("no", told[0].reasons).partition(": ")[2]
