"""The charts of reports, by name. Each module of this package registers its charts; `report
--chart`, its help and completion, the pages, the docs and the tests read this registry."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import islice
from typing import Literal, get_args

from diskbench.errors import InvalidValue, UnknownName
from diskbench.report.assemble.chart_data import ChartData
from diskbench.report.charts.figure import ChartFigure

Draw = Callable[[ChartData], Iterable[ChartFigure]]
Need = Literal[
    "one trial",
    "several trials",
    "the evidence of three runs or more",
    "the evidence of one run",
]
LIST = "list"
"""The value of `--chart` that lists the charts."""
MOST_OVER = 8
"""The most figures over steps, runs and trials on one page."""


@dataclass(frozen=True)
class Chart:
    """A kind of chart: the `name` that `--chart` takes, its `title`, the data that it `needs`, its
    `rank` on a page (the lowest first), and the function that draws it: one or more figures, or
    none if the data does not allow any."""

    name: str
    title: str
    needs: Need
    rank: int
    draw: Draw


_REGISTERED: dict[str, Chart] = {}


def chart(name: str, *, title: str, needs: Need, rank: int) -> Callable[[Draw], Draw]:
    """Register a function as the chart `name`. Raises ValueError for a name that is taken."""

    def register(draw: Draw) -> Draw:
        if name in _REGISTERED or name == LIST:
            raise ValueError(f"two charts are named {name!r}")
        _REGISTERED[name] = Chart(name, title, needs, rank, draw)
        return draw

    return register


@cache
def charts() -> tuple[Chart, ...]:
    """All charts in the order of a page, those for one trial first."""
    package = import_module("diskbench.report.charts")
    for module in pkgutil.iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    order = get_args(Need)
    return tuple(
        sorted(
            _REGISTERED.values(), key=lambda kind: (order.index(kind.needs), kind.rank, kind.name)
        )
    )


def find_chart(name: str) -> Chart:
    """The chart of that name. Raises UnknownName."""
    for kind in charts():
        if kind.name == name:
            return kind
    advice = "`diskbench report --chart list` shows all"
    raise UnknownName("chart", name, [kind.name for kind in charts()], advice=advice)


def chart_lines() -> Iterator[str]:
    """Name, title and need of each chart, one per line."""
    wide = max(len(kind.name) for kind in charts())
    for kind in charts():
        yield f"{kind.name:<{wide}}  {kind.title} (needs {kind.needs})"


def drawn_over(data: ChartData) -> tuple[ChartFigure, ...]:
    """The figures over steps, runs and trials."""
    run, several, many, _ = get_args(Need)
    single = data.single is not None
    figures = islice(_drawn(data, run if single else several), MOST_OVER)
    return (*figures, *(() if single else _drawn(data, many)))


def drawn_inside(data: ChartData) -> tuple[ChartFigure, ...]:
    """The figures of one run of a single trial; empty for several trials."""
    return tuple(_drawn(data, get_args(Need)[3])) if data.single is not None else ()


def drawn_alone(name: str, data: ChartData) -> tuple[ChartFigure, ...]:
    """The figures of one chart. Raises UnknownName, and InvalidValue if there is no figure."""
    kind = find_chart(name)
    figures = tuple(kind.draw(data)) if data.meets(kind.needs) else ()
    if not figures:
        raise InvalidValue(
            f"nothing to draw in chart {name} ({kind.title}): it needs {kind.needs}",
            advice="name other runs, or another chart: `diskbench report --chart list`",
        )
    return figures


def _drawn(data: ChartData, need: str) -> Iterator[ChartFigure]:
    if data.meets(need):
        for kind in charts():
            if kind.needs == need:
                yield from kind.draw(data)
