"""The charts of stored trials: several side by side by disk, region and hour and by the price of
their disks; the steps of one beside the promise of its disk; and its runs in order, where they
fell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from diskbench.analysis.shown import shown, verdicts_by_step
from diskbench.model.verdict import Verdict
from diskbench.report.assemble.chart_data import LEAST_RUNS, ChartData, points_by_step, step_values
from diskbench.report.assemble.facts import Facts
from diskbench.report.assemble.words import rate_metric, row_href
from diskbench.report.charts.bars import bars_chart
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.palette import Palette
from diskbench.report.charts.point import ChartPoint
from diskbench.report.charts.price import Priced, price_chart
from diskbench.report.charts.promised import ChartPromise, FigureBesidePromise, promised_chart
from diskbench.report.charts.registry import chart
from diskbench.report.charts.runs_line import ChartRunLine, CliffMark, runs_chart
from diskbench.report.charts.spread import By, groups_of, spread_chart, undated
from diskbench.report.charts.spread import SpreadRow as Values

MOST_STEPS = 8
"""The most steps with a chart each: those of the shipped profiles, and no page without end."""
MOST_APART = 3
"""The most steps that are drawn again by region and by hour."""
MOST_BARS = 40
"""The most subjects with a bar each; beyond, the chart shows their spread."""
LEAST_APART = 4
"""Fewer trials say nothing about regions and hours."""


@chart("trials", title="a step over all trials, by subject", needs="several trials", rank=10)
def _by_subject(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    for number, (step, points) in _steps(data):
        name, labels = f"trials-{number}", len({point.label for point in points})
        if labels > MOST_BARS:
            every = [Values(f"{labels} subjects", tuple(points))]
            yield spread_chart(every, palette, name=name, heading=step, samples=True)
        elif labels > 1:
            yield bars_chart(points, palette, name=name, heading=step)
        else:
            yield spread_chart(groups_of(points, "label"), palette, name=name, heading=step)


@chart("prices", title="what disks cost and what they delivered", needs="several trials", rank=20)
def _by_price(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    prices = {trial.trial_id: trial.price for trial in data.trials}
    usd = {key: price.total_usd for key, price in prices.items() if price and price.total_usd}
    for _, (step, points) in islice(_steps(data), 1):
        priced = [Priced(point, usd[point.key]) for point in points if point.key in usd]
        if len({disk.point.label for disk in priced}) > 1:
            yield price_chart(
                priced,
                palette,
                name="prices",
                heading=f"{step}: what it costs",
                prices_of="the catalogue, as it was when it was measured",
            )


@chart("regions", title="a step by region", needs="several trials", rank=30)
def _by_region(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    yield from _apart(data, palette, "region", "region")


@chart("hours", title="a step by hour of the day", needs="several trials", rank=40)
def _by_hour(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    yield from _apart(data, palette, "hour", "hour of the day (UTC)")


def _apart(data: ChartData, palette: Palette, by: By, words: str) -> Iterator[ChartFigure]:
    for number, (step, points) in _steps(data, MOST_APART):
        groups = groups_of(points, by) if len(points) >= LEAST_APART else ()
        if len(groups) > 1:
            yield spread_chart(
                groups,
                palette,
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
def _beside_promise(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    if data.single is None:
        return
    trial = data.single
    shown_verdicts = [shown(of_step) for of_step in verdicts_by_step(trial.verdicts).values()]
    held = [beside for verdict in shown_verdicts if (beside := _held(trial, verdict)) is not None]
    if len(held) < 2:
        return
    # A rate of large blocks and one of small ones have no axis in common.
    for metric, name, heading in (
        ("iops", "promised", "IOPS against promised"),
        ("bytes_per_s", "promised-throughput", "Throughput against promised"),
    ):
        if of_metric := [beside for beside in held if beside.point.metric == metric]:
            yield promised_chart(of_metric, palette, name=name, heading=heading)


def _held(trial: Facts, verdict: Verdict) -> FigureBesidePromise | None:
    """The figure of a step beside its promise; None if either is missing."""
    main = verdict.stands_for
    figures = main.promised
    if figures is None or not figures.iops or not main.iops:
        return None
    burst = next(
        (stretch.promised for stretch in verdict.stretches if stretch.kind == "burst"), None
    )
    metric = rate_metric(main.iops, main.bytes_per_s)
    scale = getattr(figures, metric) / figures.iops
    point = ChartPoint(
        label=verdict.step,
        metric=metric,
        value=getattr(main, metric),
        step=verdict.step,
        run_ids=(verdict.run_id,),
        n=1,
        statistic="mean",
        href=row_href(trial.name, verdict.step),
        marks=trial.subject.marks,
        machine=trial.machine,
    )
    promise = ChartPromise(
        value=figures.iops * scale,
        low=figures.low_iops * scale,
        high=figures.high_iops * scale,
        burst=burst.iops * scale if burst else None,
        source=figures.source,
    )
    return FigureBesidePromise(point, promise, on_credit=main.kind == "burst")


MOST_RUN_STEPS = 2
"""The number of steps drawn run after run: those that changed most."""


@chart(
    "runs",
    title="a step run after run, and the run in which it dropped",
    needs="one trial",
    rank=10,
)
def _by_run(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    numbers = {row.run_id: row.number for row in data.runs}
    if data.single is None or len(numbers) < LEAST_RUNS:
        return
    values = step_values(data.single)
    values.sort(key=lambda value: min(value.values) / max(value.values))
    for number, step_value in enumerate(values[:MOST_RUN_STEPS]):
        line = ChartRunLine(
            label=step_value.step,
            metric=step_value.metric,
            origin="measured",
            direction=step_value.direction,
            values=tuple(
                (numbers[run_id], value)
                for run_id, value in zip(step_value.run_ids, step_value.values, strict=True)
            ),
            run_ids=step_value.run_ids,
            hrefs=tuple(row_href(run_id) for run_id in step_value.run_ids),
        )
        yield runs_chart(
            [line],
            palette,
            name=f"runs-{number}",
            heading=f"{step_value.step}, run after run",
            cliffs=_cliffs(data, step_value.step, numbers),
        )


def _cliffs(data: ChartData, step: str, numbers: Mapping[str, int]) -> list[CliffMark]:
    """The run in which credit should have run out, and the one in which a step fell."""
    expected = data.plan.expectation.credits if data.plan and data.plan.expectation else ()
    gone = [credit for credit in expected if credit.gone_s is not None and credit.step == step]
    marks = [CliffMark(credit.run or 1, "predicted") for credit in gone[:1]]
    phases = data.single.phases if data.single else ()
    fell = [phase for phase in phases if phase.step == step and phase.cliffs]
    return marks + [CliffMark(numbers[phase.run_id], "measured") for phase in fell[:1]]
