"""The charts of stored trials: several side by side by disk, region and hour and by the price of
their disks; the steps of one beside the promise of its disk; and its runs in order, where they
fell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice

from diskbench.analysis.shown import shown, verdicts_by_step
from diskbench.model.verdict import Verdict
from diskbench.report.assemble.chart_data import LEAST_RUNS, ChartData, points_by_step, step_points
from diskbench.report.assemble.facts import Facts
from diskbench.report.assemble.words import rate_metric, row_href
from diskbench.report.charts.bars import bars_chart
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.point import ChartPoint, Promise
from diskbench.report.charts.price import price_chart
from diskbench.report.charts.promised import promised_chart
from diskbench.report.charts.registry import chart
from diskbench.report.charts.runs_line import CliffMark, runs_chart
from diskbench.report.charts.spread import By, groups_of, spread_chart, undated

MOST_STEPS = 8
"""The most steps with a chart each: those of the shipped profiles, and no page without end."""
MOST_APART = 3
"""The most steps that are drawn again by region and by hour."""
MOST_BARS = 40
"""The most subjects with a bar each; beyond, the chart shows their spread."""
LEAST_APART = 4
"""Fewer trials say nothing about regions and hours."""


@chart("trials", title="a step over all trials, by subject", needs="several trials", rank=10)
def _by_subject(data: ChartData) -> Iterator[ChartFigure]:
    for number, (step, points) in _steps(data):
        name, labels = f"trials-{number}", len({point.label for point in points})
        if labels > MOST_BARS:
            every = {f"{labels} subjects": points}
            yield spread_chart(every, name=name, heading=step, samples=True)
        elif labels > 1:
            yield bars_chart(points, name=name, heading=step)
        else:
            yield spread_chart(groups_of(points, "label"), name=name, heading=step)


@chart("prices", title="what disks cost and what they delivered", needs="several trials", rank=20)
def _by_price(data: ChartData) -> Iterator[ChartFigure]:
    prices = {trial.trial_id: trial.price for trial in data.trials}
    usd = {key: price.total_usd for key, price in prices.items() if price and price.total_usd}
    for _, (step, points) in _steps(data, 1):
        priced = [replace(point, usd=usd[point.key]) for point in points if point.key in usd]
        if len({point.label for point in priced}) > 1:
            yield price_chart(
                priced,
                name="prices",
                heading=f"{step}: what it costs",
                prices_of="the catalogue, as it was when it was measured",
            )


@chart("regions", title="a step by region", needs="several trials", rank=30)
def _by_region(data: ChartData) -> Iterator[ChartFigure]:
    yield from _apart(data, "region", "region")


@chart("hours", title="a step by hour of the day", needs="several trials", rank=40)
def _by_hour(data: ChartData) -> Iterator[ChartFigure]:
    yield from _apart(data, "hour", "hour of the day (UTC)")


def _apart(data: ChartData, by: By, words: str) -> Iterator[ChartFigure]:
    for number, (step, points) in _steps(data, MOST_APART):
        groups = groups_of(points, by) if len(points) >= LEAST_APART else {}
        if len(groups) > 1:
            yield spread_chart(
                groups,
                name=f"{by}-{number}",
                heading=f"{step} by {words}",
                left_out=undated(points) if by == "hour" else "",
            )


def _steps(
    data: ChartData, most: int = MOST_STEPS
) -> Iterator[tuple[int, tuple[str, list[ChartPoint]]]]:
    """The first steps that several trials share, numbered."""
    yield from enumerate(islice(points_by_step(data.groups).items(), most))


@chart("promised", title="each step and what was promised", needs="one trial", rank=20)
def _beside_promise(data: ChartData) -> Iterator[ChartFigure]:
    if data.single is None:
        return
    trial = data.single
    shown_verdicts = [shown(of_step) for of_step in verdicts_by_step(trial.verdicts).values()]
    points = [point for verdict in shown_verdicts if (point := _promised(trial, verdict))]
    if len(points) < 2:
        return
    # A rate of large blocks and one of small ones have no axis in common.
    for metric, name, heading in (
        ("iops", "promised", "IOPS against promised"),
        ("bytes_per_s", "promised-throughput", "Throughput against promised"),
    ):
        if of_metric := [point for point in points if point.metric == metric]:
            yield promised_chart(of_metric, name=name, heading=heading)


def _promised(trial: Facts, verdict: Verdict) -> ChartPoint | None:
    """The figure of a step with its promise; None if either is missing."""
    main = verdict.stands_for
    figures = main.promised
    if figures is None or not figures.iops or not main.iops:
        return None
    burst = next(
        (stretch.promised for stretch in verdict.stretches if stretch.kind == "burst"), None
    )
    metric = rate_metric(main.iops, main.bytes_per_s)
    scale = getattr(figures, metric) / figures.iops
    return ChartPoint(
        label=verdict.step,
        metric=metric,
        value=getattr(main, metric),
        step=verdict.step,
        run_ids=(verdict.run_id,),
        n=1,
        href=row_href(trial.name, verdict.step),
        marks=trial.subject.marks,
        machine=trial.machine,
        promise=Promise(
            value=figures.iops * scale,
            low=figures.low_iops * scale,
            high=figures.high_iops * scale,
            burst=burst.iops * scale if burst else None,
            source=figures.source,
            on_credit=main.kind == "burst",
        ),
    )


MOST_RUN_STEPS = 2
"""The number of steps drawn run after run: those that changed most."""


@chart(
    "runs",
    title="a step run after run, and the run in which it dropped",
    needs="one trial",
    rank=10,
)
def _by_run(data: ChartData) -> Iterator[ChartFigure]:
    numbers = {row.run_id: row.number for row in data.runs}
    if data.single is None or len(numbers) < LEAST_RUNS:
        return
    points = step_points(data.single)
    points.sort(key=lambda point: min(point.values) / max(point.values))
    for number, point in enumerate(points[:MOST_RUN_STEPS]):
        step = point.label
        of_runs = tuple(numbers[run_id] for run_id in point.run_ids)
        yield runs_chart(
            [replace(point, numbers=of_runs, marks=())],
            name=f"runs-{number}",
            heading=f"{step}, run after run",
            cliffs=_cliffs(data, step, numbers),
            hrefs={run_id: row_href(run_id) for run_id in point.run_ids},
        )


def _cliffs(data: ChartData, step: str, numbers: Mapping[str, int]) -> list[CliffMark]:
    """The run in which credit should have run out, and the one in which a step fell."""
    expected = data.plan.expectation.credits if data.plan and data.plan.expectation else ()
    gone = [credit for credit in expected if credit.gone_s is not None and credit.step == step]
    marks = [CliffMark(credit.run or 1, "predicted") for credit in gone[:1]]
    phases = data.single.phases if data.single else ()
    fell = [phase for phase in phases if phase.step == step and phase.cliffs]
    return marks + [CliffMark(numbers[phase.run_id], "measured") for phase in fell[:1]]
