"""Figures as a page shows them: words, and SVG whose colours are the page's variables."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from markupsafe import Markup

from diskbench.report.charts import PAGE, svg
from diskbench.report.charts.palette import PICTURE, variables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.report.charts.figure import ChartFigure

WIDE_PX = 460
"""A drawing wider than this has a row of the page for itself."""
_VARIABLE = re.compile(r"var\((--[a-z0-9-]+)\)")


@dataclass(frozen=True)
class PageChart:
    """A figure with its drawings; `log` where its axis can be switched."""

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
    """The figures; those without an id are numbered from `first`. On paper colours are fixed, and
    an axis is not switched: it is the one that the data calls for."""
    return [
        _drawn(one if one.id else replace(one, id=f"chart-{number}"), paper=paper)
        for number, one in enumerate(figures, first)
    ]


def _drawn(figure: ChartFigure, *, paper: bool) -> PageChart:
    linear = _svg(figure, log=figure.log_first if paper else False, paper=paper)
    both = figure.log_drawing is not None and not paper
    log = _svg(figure, log=True, paper=paper) if both else ""
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
    found = svg(figure, PAGE, log=log)
    if paper:
        values = variables(PICTURE)
        found = _VARIABLE.sub(lambda one: values.get(one[1], one[0]), found)
    # Made by vega from data, and vega escapes every text it draws.
    return Markup(found)  # noqa: S704


def _width(svg: str) -> int:
    """The width that vega wrote into its drawing."""
    _, _, rest = svg.partition(' width="')
    number, _, _ = rest.partition('"')
    return round(float(number)) if number.replace(".", "", 1).isdigit() else 0
