"""The steps of one trial beside the promise of its disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.analysis.shown import shown, verdicts_by_step
from diskbench.report.assemble.result_rows import trial_name
from diskbench.report.assemble.words import rate_metric, row_href
from diskbench.report.charts.point import ChartPoint
from diskbench.report.charts.promised import ChartPromise, FigureBesidePromise, promised_chart
from diskbench.report.charts.registry import chart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.model.verdict import Verdict
    from diskbench.report.assemble.chart_data import ChartData
    from diskbench.report.assemble.trial_facts import TrialFacts
    from diskbench.report.charts.figure import ChartFigure
    from diskbench.report.charts.palette import Palette


@chart("promised", title="each step and what was promised", needs="one trial", rank=20)
def _of_trial(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    if data.single is None:
        return
    trial = data.single.trial
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


def _held(trial: TrialFacts, verdict: Verdict) -> FigureBesidePromise | None:
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
        href=row_href(trial_name(trial), verdict.step),
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
