"""Representative runs of the most common step in full: the median, the fallen, the stalled …"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from diskbench.report.assemble.overview import telling
from diskbench.report.assemble.words import row_href
from diskbench.report.charts.course import course_chart
from diskbench.report.charts.registry import chart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.report.assemble.chart_data import ChartData
    from diskbench.report.charts.figure import ChartFigure
    from diskbench.report.charts.palette import Palette

MOST_TELLING = 6


@chart(
    "telling-runs",
    title="the runs of a step that differ most, second by second",
    needs="the evidence of three runs or more",
    rank=20,
)
def _of_runs(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    by_id = {row.run_id: row for row in data.runs}
    for bands in data.bands[:1]:
        for run in telling(bands, MOST_TELLING):
            for course in data.courses_of(by_id[run.run_id]):
                if course.step != bands[0].step:
                    continue
                figure = course_chart(course, palette, rate=bands[0].figure)
                yield replace(
                    figure,
                    title=f"{course.step}: {run.why}",
                    subtitle=f"run {run.run_id}\n{figure.subtitle}",
                    rows_href=row_href(run.run_id),
                )
