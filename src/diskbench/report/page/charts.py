"""Figures for a page: text, and SVG whose colours are the page's CSS variables."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from markupsafe import Markup

from diskbench.report.charts.figure import svg
from diskbench.report.charts.palette import PAGE, PICTURE, variables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.report.charts.figure import ChartFigure

WIDE_PX = 460
"""A drawing wider than this, in pixels, gets a row of the page to itself."""
_VARIABLE = re.compile(r"var\((--[a-z0-9-]+)\)")


@dataclass(frozen=True)
class PageChart:
    """A figure with its drawings; `log` is the second drawing where the axis can be switched."""

    id: str
    title: str
    subtitle: str
    alt: str
    svg: str
    log: str = ""
    log_first: bool = False
    rows_href: str | None = None
    width: int = 0
    wide: bool = False


def drawn(
    figures: Sequence[ChartFigure], *, first: int = 1, paper: bool = False
) -> list[PageChart]:
    """The figures as drawings; those without an id are numbered from `first`. On paper colours are
    fixed, and only the axis that suits the data is drawn."""
    return [
        _drawn(figure if figure.id else replace(figure, id=f"chart-{number}"), paper=paper)
        for number, figure in enumerate(figures, first)
    ]


def _drawn(figure: ChartFigure, *, paper: bool) -> PageChart:
    linear = _svg(figure, log=figure.log_first if paper else False, paper=paper)
    has_both = figure.log_drawing is not None and not paper
    log = _svg(figure, log=True, paper=paper) if has_both else ""
    width = _width(linear)
    return PageChart(
        id=figure.id,
        title=figure.title,
        subtitle=figure.subtitle,
        alt=figure.alt or f"{figure.title}.",
        svg=linear,
        log=log,
        log_first=figure.log_first,
        rows_href=figure.rows_href,
        width=width,
        wide=width > WIDE_PX,
    )


def _svg(figure: ChartFigure, *, log: bool, paper: bool) -> str:
    drawing = svg(figure, PAGE, log=log)
    if paper:
        values = variables(PICTURE)
        drawing = _VARIABLE.sub(lambda match: values.get(match[1], match[0]), drawing)
    # vega escapes every text that it draws.
    return Markup(drawing)  # noqa: S704


def _width(svg: str) -> int:
    """The width that vega wrote into its drawing."""
    _, _, after = svg.partition(' width="')
    number, _, _ = after.partition('"')
    return round(float(number)) if number.replace(".", "", 1).isdigit() else 0
