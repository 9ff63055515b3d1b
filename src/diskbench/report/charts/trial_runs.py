"""The runs of one trial in order: the steps that changed most, and where they fell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.report.assemble.chart_data import LEAST_RUNS, step_values
from diskbench.report.assemble.words import row_href
from diskbench.report.charts.registry import chart
from diskbench.report.charts.runs_line import ChartRunLine, CliffMark, runs_chart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from diskbench.report.assemble.chart_data import ChartData
    from diskbench.report.charts.figure import ChartFigure
    from diskbench.report.charts.palette import Palette

MOST_STEPS = 2
"""The number of steps drawn run after run: those that changed most."""


@chart(
    "runs",
    title="a step run after run, and the run in which it dropped",
    needs="one trial",
    rank=10,
)
def _of_trial(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    numbers = {row.run_id: row.number for row in data.runs}
    if data.single is None or len(numbers) < LEAST_RUNS:
        return
    values = step_values(data.single)
    values.sort(key=lambda value: min(value.values) / max(value.values))
    for number, step_value in enumerate(values[:MOST_STEPS]):
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
    phases = data.single.trial.phases if data.single else ()
    fell = [phase for phase in phases if phase.step == step and phase.cliffs]
    return marks + [CliffMark(numbers[phase.run_id], "measured") for phase in fell[:1]]
