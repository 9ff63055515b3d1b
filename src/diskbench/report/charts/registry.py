"""The charts of reports by name, in the order of a page. `report --chart`, its help and completion,
the pages, the docs and the tests read this table."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal, get_args

from diskbench.errors import InvalidValue, check_known
from diskbench.report.assemble.chart_data import ChartData
from diskbench.report.charts.course import course_chart, latency_of_run, telling_runs
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.heat import latency_map_chart, overviews
from diskbench.report.charts.loads import MOST_CURVES, blocks, load_chart, mixed
from diskbench.report.charts.spread_lines import cdf_chart, percentile_chart
from diskbench.report.charts.summary import latency_of_trial, rates_of_trial
from diskbench.report.charts.trials import apart, beside_promise, by_price, by_run, by_subject

Draw = Callable[[ChartData], Iterable[ChartFigure]]
Need = Literal[
    "one trial", "several trials", "the evidence of three runs or more", "the evidence of one run"
]
LIST = "list"
"""The value of `--chart` that lists the charts."""
MOST_OVER = 8
"""The most figures over steps, runs and trials on one page."""


@dataclass(frozen=True)
class Chart:
    """A kind of chart: the `name` that `--chart` takes, its `title`, the data that it `needs`, and
    the function that draws it: one or more figures, or none if the data does not allow any."""

    name: str
    title: str
    needs: Need
    draw: Draw


_TRIAL, _TRIALS, _RUNS, _RUN = get_args(Need)

CHARTS = (
    Chart("runs", "a step run after run, and the run in which it dropped", _TRIAL, by_run),
    Chart("promised", "each step and what was promised", _TRIAL, beside_promise),
    Chart("blocks", "IOPS and MB/s over the block size", _TRIAL, blocks),
    Chart("mixed", "p99 of reads for each share of reads and writes offered", _TRIAL, mixed),
    Chart("iops", "IOPS and throughput of each step", _TRIAL, rates_of_trial),
    Chart("latency", "median, tail and longest latency of each step", _TRIAL, latency_of_trial),
    Chart("trials", "a step over all trials, by subject", _TRIALS, by_subject),
    Chart("prices", "what disks cost and what they delivered", _TRIALS, by_price),
    Chart("regions", "a step by region", _TRIALS, lambda data: apart(data, "region", "region")),
    Chart("hours", "a step by hour of the day", _TRIALS,
          lambda data: apart(data, "hour", "hour of the day (UTC)")),
    Chart("overview", "the seconds of all runs of a step as one picture", _RUNS, overviews),
    Chart("telling-runs", "the runs of a step that differ most, second by second", _RUNS,
          telling_runs),
    Chart("seconds", "IOPS of each step second by second, with its phases and cliffs", _RUN,
          lambda data: map(course_chart, data.courses)),
    Chart("latency-seconds", "latency of a step second by second", _RUN, latency_of_run),
    Chart("latency-map", "how many I/Os took how long, over time", _RUN,
          lambda data: [latency_map_chart(data.latency_map)] if data.latency_map else ()),
    Chart("percentiles", "latency up to each percentile, with the tail stretched", _RUN,
          lambda data: [percentile_chart(data.distributions)] if data.distributions else ()),
    Chart("cdf", "the share of I/Os that took at most a given time", _RUN,
          lambda data: [cdf_chart(data.distributions)] if data.distributions else ()),
    Chart("load", "latency against throughput: the load beyond which only latency grows", _RUN,
          lambda data: map(load_chart, data.load_curves[:MOST_CURVES])),
)  # fmt: skip
"""Those for one trial first; a page draws them in this order."""


def find_chart(name: str) -> Chart:
    """The chart of that name. Raises UnknownName."""
    of_name = {kind.name: kind for kind in CHARTS}
    advice = "`diskbench report --chart list` shows all"
    check_known("chart", name, of_name, advice=advice)
    return of_name[name]


def chart_lines() -> Iterator[str]:
    """Name, title and need of each chart, one per line."""
    wide = max(len(kind.name) for kind in CHARTS)
    for kind in CHARTS:
        yield f"{kind.name:<{wide}}  {kind.title} (needs {kind.needs})"


def drawn_over(data: ChartData) -> tuple[ChartFigure, ...]:
    """The figures over steps, runs and trials."""
    if data.single is not None:
        return tuple(islice(_drawn(data, _TRIAL), MOST_OVER))
    over_trials = islice(_drawn(data, _TRIALS), MOST_OVER)
    return (*over_trials, *_drawn(data, _RUNS))


def drawn_inside(data: ChartData) -> tuple[ChartFigure, ...]:
    """The figures of one run of a single trial; empty for several trials."""
    return tuple(_drawn(data, _RUN)) if data.single is not None else ()


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


def _drawn(data: ChartData, need: Need) -> Iterator[ChartFigure]:
    if data.meets(need):
        for kind in CHARTS:
            if kind.needs == need:
                yield from kind.draw(data)
