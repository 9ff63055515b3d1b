"""The summary picture of a trial: IOPS above latency, below the title of the result."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from diskbench.report.charts.figure import document
from diskbench.report.charts.iops import rate_charts
from diskbench.report.charts.latency import latency_chart
from diskbench.report.charts.palette import PICTURE

WRAP = 100
"""Characters per line of the subtitle above the drawings."""

if TYPE_CHECKING:
    from diskbench.report.assemble.lines import StepLine
    from diskbench.report.charts.palette import Palette


def summary_picture(
    title: str, subtitle: str, lines: Sequence[StepLine], palette: Palette = PICTURE
) -> dict[str, Any]:
    """The Vega-Lite document of the picture."""
    import altair as alt

    figures: list[Any] = []
    for figure in (*rate_charts(lines, palette), latency_chart(lines, palette)):
        wrapped = textwrap.wrap(figure.subtitle, WRAP)
        words = alt.TitleParams(figure.title, subtitle=wrapped, anchor="start", offset=10)
        drawing: Any = figure.drawing
        figures.append(drawing.properties(width=460, title=words))
    charts = alt.vconcat(*figures, spacing=28).resolve_legend(shape="independent")
    about = textwrap.wrap(subtitle, WRAP, break_on_hyphens=False) or [""]
    heading = alt.TitleParams(title, subtitle=about, fontSize=16, anchor="start", offset=18)
    return document(charts.properties(title=heading), palette)
