"""One trial step by step: IOPS and throughput on an axis each, latency (median, tail and maximum),
and the picture of all three below the title of the result."""

from collections.abc import Iterator, Sequence

from diskbench.parallel import grouped
from diskbench.report.assemble.chart_data import ChartData
from diskbench.report.assemble.lines import StepLine
from diskbench.report.charts import measure
from diskbench.report.charts.figure import ChartFigure, titled
from diskbench.report.charts.layers import layer, layered
from diskbench.report.charts.measure import Spec
from diskbench.report.charts.palette import INK, MUTED, OF_DIRECTION
from diskbench.report.charts.point import Row
from diskbench.units import format_iops, format_mb_per_s, in_large_blocks

WIDTH = 260
_BARS_WIDTH = 165
"""Texts stand to the right of it."""
_PICTURE_WIDTH = 460
_WRAP = 100
"""Characters per line above the drawings of a picture."""
ROW_HEIGHT = 26
ONE_MACHINE = "no interval (n = 1 machine)"
"""Runs of one trial are a series on one disk, so there is no interval (MR-5)."""


def label(line: StepLine, lines: Sequence[StepLine]) -> str:
    """The step's name, with the direction if the name alone is ambiguous."""
    alone = sum(other.step == line.step for other in lines) == 1
    return line.step if alone and line.direction in line.step else f"{line.step} {line.direction}"


def _of_step(drawn: Sequence[StepLine], lines: Sequence[StepLine]) -> dict[str, Spec]:
    """A row for each step that is drawn, with room for the labels of all `lines` of the trial: so
    drawings below each other have one left edge."""
    names = {id(line): label(line, lines) for line in lines}
    axis = measure.bare_labels(list(names.values()))
    return {
        "y": measure.named("label", sort=[names[id(line)] for line in drawn], axis=axis),
        "color": measure.by_name("direction", OF_DIRECTION),
    }


def rate_charts(lines: Sequence[StepLine]) -> tuple[ChartFigure, ...]:
    """Bars of IOPS for steps in small blocks, and bars of MB/s for those in large ones: on one axis
    a step of 1 MiB would look a hundred times slower than one of 4 KiB on the same disk. A thin
    line shows the range of the runs. Steps without a rate have no bar."""
    drawn = grouped((line for line in lines if line.iops is not None), _in_large_blocks)
    return tuple(_bars(drawn[large], lines, in_bytes=large) for large in sorted(drawn))


def _in_large_blocks(line: StepLine) -> bool:
    iops, speed = line.iops, line.bytes_per_s
    return iops is not None and speed is not None and in_large_blocks(iops.median, speed.median)


def _bars(drawn: Sequence[StepLine], lines: Sequence[StepLine], *, in_bytes: bool) -> ChartFigure:
    heading, unit = "IOPS", "operations per second (MB/s)"
    if in_bytes:
        heading, unit = "Throughput", "MB/s of steps in large blocks (IOPS)"
    runs = max(line.n for line in drawn)
    rows: list[Row] = []
    for line in drawn:
        if (spread := line.bytes_per_s if in_bytes else line.iops) is not None:
            ends = {"rate": spread.median, "low": spread.low, "high": spread.high}
            who = {"label": label(line, lines), "direction": line.direction}
            rows.append(who | ends | {"text": _rate_text(line, in_bytes=in_bytes)})
    scale = {"domain": [0, max(row["high"] for row in rows)], "nice": False}
    of_step = _of_step(drawn, lines)

    def at(field: str, **more: Spec) -> dict[str, Spec]:
        x = measure.amount(field, title=None, scale=scale, axis=None)
        return {"x": x, "y": of_step["y"], **more}

    layers = [
        layer("bar", rows, at("rate") | of_step, cornerRadiusEnd=3, height=14),
        layer("rule", rows if runs > 1 else (), at("low", x2={"field": "high"}), color=INK,
              strokeWidth=1.5),
        layer("text", rows, at("high"), align="left", dx=6, color=INK),
    ]  # fmt: skip
    n = f"bar: median of n = {runs} runs, line: lowest to highest" if runs > 1 else "n = 1 run"
    return ChartFigure(
        heading,
        f"{unit}; {n}; {ONE_MACHINE}",
        lambda _: layered(layers, _BARS_WIDTH, ROW_HEIGHT * len(drawn)),
        id=heading.lower(),
    )


def _rate_text(line: StepLine, *, in_bytes: bool) -> str:
    """`3,000  (12.3 MB/s)`; for large blocks `126  (120 IOPS)`."""
    iops = format_iops(line.iops.median) if line.iops else ""
    speed = format_mb_per_s(line.bytes_per_s.median) if line.bytes_per_s else ""
    if in_bytes:
        return f"{speed}  ({iops} IOPS)"
    return f"{iops}  ({speed} MB/s)" if speed and line.direction != "sync" else iops


def rates_of_trial(data: ChartData) -> Iterator[ChartFigure]:
    """The rates of a trial of several steps."""
    if data.single and sum(line.iops is not None for line in data.single.lines) > 1:
        yield from rate_charts(data.single.lines)


_SHAPES = {
    "p50": "circle", "p99": "diamond", "p99.9": "triangle-up", "max": "M-0.2,-1.2h0.4v2.4h-0.4Z",
}  # fmt: skip


def latency_chart(lines: Sequence[StepLine]) -> ChartFigure:
    """p50, p99, p99.9 and maximum of each step and direction on a logarithmic axis."""
    runs = max((line.n for line in lines), default=0)
    rows: list[Row] = []
    for line in lines:
        who = {"label": label(line, lines), "direction": line.direction}
        latencies = (line.p50_ns, line.p99_ns, line.p99_9_ns, line.max_ns)
        for which, value in zip(_SHAPES, latencies, strict=True):
            if value and value.median > 0:
                rows.append(who | {"which": which, "ns": value.median})
    x = measure.value_axis(
        "ns", "lat_ns", measure.log_domain(row["ns"] for row in rows), log=True, title=None
    )
    ends = {"x": x | {"aggregate": "min"}, "x2": {"field": "ns", "aggregate": "max"}}
    of_step = _of_step(lines, lines)
    legend = {"title": None, "symbolFillColor": MUTED, "symbolStrokeWidth": 0}
    shape = measure.by_name("which", _SHAPES, legend)
    layers = [
        layer("rule", rows, of_step | ends, strokeWidth=2, opacity=0.35),
        layer("point", rows, of_step | {"x": x, "shape": shape}, filled=True, size=58, opacity=1),
    ]
    of_runs = f"median of n = {runs} runs" if runs > 1 else "n = 1 run"
    return ChartFigure(
        "Latency",
        f"time of one operation, logarithmic; {of_runs}; {ONE_MACHINE}",
        lambda _: layered(layers, WIDTH, ROW_HEIGHT * max(len(lines), 1)),
        id="latency",
    )


def _has_latency(lines: Sequence[StepLine]) -> bool:
    return any(line.p50_ns or line.max_ns for line in lines)


def latency_of_trial(data: ChartData) -> Iterator[ChartFigure]:
    """The latencies of a trial of several steps."""
    lines = data.single.lines if data.single else ()
    if len(lines) > 1 and _has_latency(lines):
        yield latency_chart(lines)


def summary_picture(title: str, subtitle: str, lines: Sequence[StepLine]) -> Spec:
    """The drawings below each other; without a latency there is no drawing of it."""
    drawn = (*rate_charts(lines), *([latency_chart(lines)] if _has_latency(lines) else ()))
    figures = []
    for figure in drawn:
        above = titled(figure.title, figure.subtitle, wrap=_WRAP, offset=10)
        figures.append(figure.on() | {"width": _PICTURE_WIDTH} | above)
    heading = titled(title, subtitle, wrap=_WRAP, fontSize=16, offset=18)
    resolved = {"legend": {"shape": "independent"}}
    return {"vconcat": figures, "spacing": 28, "resolve": resolved, **heading}
