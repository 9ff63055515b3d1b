"""The expectation of a plan as chart data: promises, prices, and predicted runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from diskbench.report.charts.promised import ChartPromise, FigureBesidePromise
from diskbench.report.charts.runs_line import ChartRunLine, CliffMark

if TYPE_CHECKING:
    from diskbench.model.expectation import PlanExpectation, StepExpectation
    from diskbench.report.charts.point import ChartPoint

_ABOVE = 1.05
"""A figure above the lasting promise by this factor was measured on credit, and is compared with
the burst. Our choice."""


def held_of(
    point: ChartPoint, outlook: PlanExpectation | None, *, source: str = ""
) -> FigureBesidePromise | None:
    """A figure beside the promise of its disk for the same step; None without a promise, or if the
    figure is not a rate."""
    step = _step(outlook, point.step)
    expected = outlook.of(step) if outlook and step else None
    if expected is None or point.metric not in ("iops", "bytes_per_s"):
        return None
    per = 1.0 if point.metric == "iops" else float(expected.load.block_bytes)
    lasting = expected.lasting
    if lasting.iops <= 0:
        return None
    promise = ChartPromise(
        value=lasting.iops * per,
        low=lasting.low_iops * per,
        high=lasting.high_iops * per,
        burst=expected.begin.iops * per if expected.bursts else None,
        source=source,
    )
    return FigureBesidePromise(point, promise, on_credit=point.value > _ABOVE * promise.value)


def monthly_usd(outlook: PlanExpectation | None) -> float | None:
    """The price of the disk per month in US dollars, with transactions; None if unknown."""
    price = outlook.price if outlook else None
    return price.total_usd if price and price.total_usd else None


def predicted_lines(
    outlook: PlanExpectation | None, steps: Sequence[tuple[str, str, str]], runs: int, label: str
) -> tuple[ChartRunLine, ...]:
    """The mean rate that the catalogue predicts for each run, for each (step, metric,
    direction)."""
    lines = []
    for name, metric, direction in steps:
        first = _step(outlook, name)
        if outlook is None or first is None:
            continue
        values = []
        for run in range(1, runs + 1):
            step = outlook.step(first.index, run)
            expected = outlook.of(step)
            if step is None or step.mean_iops is None or expected is None:
                continue
            per = expected.load.block_bytes if metric == "bytes_per_s" else 1
            values.append((run, step.mean_iops * per))
        if values:
            lines.append(ChartRunLine(label, metric, "predicted", tuple(values), direction))
    return tuple(lines)


def predicted_cliffs(outlook: PlanExpectation | None) -> tuple[CliffMark, ...]:
    """The run in which the first bucket runs empty; empty if none does."""
    gone = [credit for credit in outlook.credits if credit.gone_s is not None] if outlook else []
    if not gone:
        return ()
    first = min(gone, key=lambda credit: credit.gone_s or 0.0)
    words = f"predicted: credit is gone in run {first.run}, in {first.step}"
    return (CliffMark(first.run or 1, "predicted", words),)


def _step(outlook: PlanExpectation | None, name: str) -> StepExpectation | None:
    return next((step for step in outlook.steps if step.name == name), None) if outlook else None
