"""The charts of stored trials: several side by side by disk, region and hour and by the price of
their disks; the steps of one beside the promise of its disk; and its runs, where they fell."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice

from diskbench.analysis.shown import shown, verdicts_by_step
from diskbench.model.verdict import Verdict
from diskbench.report.assemble.chart_data import LEAST_RUNS, ChartData, points_by_step, step_points
from diskbench.report.assemble.summary import Facts
from diskbench.report.assemble.words import rate_metric, row_href
from diskbench.report.charts.bars import bars_chart
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.point import ChartPoint
from diskbench.report.charts.price import price_chart
from diskbench.report.charts.promised import promised_chart
from diskbench.report.charts.runs_line import cliff, runs_chart
from diskbench.report.charts.spread import By, groups_of, spread_chart, undated

MOST_STEPS = 8
"""The most steps with a chart each: those of the shipped profiles, and no page without end."""
MOST_APART = 3
"""The most steps that are drawn again by region and by hour."""
MOST_BARS = 40
"""The most subjects with a bar each; beyond, the chart shows their spread."""
LEAST_APART = 4
"""Fewer trials say nothing about regions and hours."""


def by_subject(data: ChartData) -> Iterator[ChartFigure]:
    """The first steps over all trials: a bar a subject, or the spread of one."""
    for number, (step, points) in _steps(data):
        name, labels = f"trials-{number}", len({point.label for point in points})
        if labels > MOST_BARS:
            every = {f"{labels} subjects": points}
            yield spread_chart(every, name=name, heading=step, samples=True)
        elif labels > 1:
            yield bars_chart(points, name=name, heading=step)
        else:
            yield spread_chart(groups_of(points, "label"), name=name, heading=step)


def by_price(data: ChartData) -> Iterator[ChartFigure]:
    """The first step of trials whose disks have a price."""
    prices = {trial.trial_id: trial.price for trial in data.trials}
    usd = {key: price.total_usd for key, price in prices.items() if price and price.total_usd}
    for _, (step, points) in _steps(data, 1):
        priced = [replace(point, usd=usd[point.key]) for point in points if point.key in usd]
        if len({point.label for point in priced}) > 1:
            book = "the catalogue, as it was when it was measured"
            yield price_chart(
                priced, name="prices", heading=f"{step}: what it costs", prices_of=book
            )


def apart(data: ChartData, by: By, words: str) -> Iterator[ChartFigure]:
    """The first steps by region or by hour of the day."""
    for number, (step, points) in _steps(data, MOST_APART):
        groups = groups_of(points, by) if len(points) >= LEAST_APART else {}
        if len(groups) > 1:
            left_out, heading = undated(points) if by == "hour" else "", f"{step} by {words}"
            yield spread_chart(groups, name=f"{by}-{number}", heading=heading, left_out=left_out)


def _steps(
    data: ChartData, most: int = MOST_STEPS
) -> Iterator[tuple[int, tuple[str, list[ChartPoint]]]]:
    """The first steps that several trials share, numbered."""
    yield from enumerate(islice(points_by_step(data.groups).items(), most))


def beside_promise(data: ChartData) -> Iterator[ChartFigure]:
    """The steps of one trial beside what was promised of its disk."""
    if data.single is None:
        return
    trial = data.single
    shown_verdicts = [shown(of_step) for of_step in verdicts_by_step(trial.verdicts).values()]
    points = [point for verdict in shown_verdicts if (point := _promised(trial, verdict))]
    # A rate of large blocks and one of small ones have no axis in common.
    for metric, name, rate in (
        ("iops", "promised", "IOPS"),
        ("bytes_per_s", "promised-throughput", "Throughput"),
    ):
        of_metric = [point for point in points if point.metric == metric]
        if of_metric and len(points) > 1:
            yield promised_chart(of_metric, name=name, heading=f"{rate} against promised")


def _promised(trial: Facts, verdict: Verdict) -> ChartPoint | None:
    """The figure of a step with its promise; None if either is missing."""
    main = verdict.stands_for
    figures = main.promised
    if figures is None or not figures.iops or not main.iops:
        return None
    bursts = (stretch.promised for stretch in verdict.stretches if stretch.kind == "burst")
    burst = next(bursts, None)
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
        promised=tuple(of * scale for of in (figures.iops, figures.low_iops, figures.high_iops)),
        promised_by=figures.source,
        burst=burst.iops * scale if burst else None,
        on_credit=main.kind == "burst",
    )


MOST_RUN_STEPS = 2
"""The number of steps drawn run after run: those that changed most."""


def by_run(data: ChartData) -> Iterator[ChartFigure]:
    """The steps of one trial that changed most from run to run."""
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


def _cliffs(data: ChartData, step: str, numbers: Mapping[str, int]) -> list[ChartPoint]:
    """The run in which credit should have run out, and the one in which a step fell."""
    expected = data.plan.expectation.credits if data.plan and data.plan.expectation else ()
    gone = [credit for credit in expected if credit.gone_s is not None and credit.step == step]
    marks = [cliff(credit.run or 1, "predicted") for credit in gone[:1]]
    phases = data.single.phases if data.single else ()
    fell = [phase for phase in phases if phase.step == step and phase.cliffs]
    return marks + [cliff(numbers[phase.run_id], "measured") for phase in fell[:1]]
