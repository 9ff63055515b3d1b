"""Charts of steps that vary a load: latency against throughput, which shows where more load only
adds latency; IOPS and MB/s over the block size; and the latency of reads for each share of reads
and writes that was offered.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from diskbench.report.assemble.chart_data import ChartData
from diskbench.report.assemble.loads import LoadCurve, LoadPoint, block_curves, mix_cells
from diskbench.report.charts import measure
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.heat import bounds_of
from diskbench.report.charts.layers import described, layer, layered, placed
from diskbench.report.charts.measure import Spec
from diskbench.report.charts.palette import HEAT, INK, MUTED, OF_DIRECTION
from diskbench.report.charts.point import Row
from diskbench.units import counted, format_bytes

MOST_CURVES = 2
"""The most families of steps with a curve of a kind in one report."""
WIDTH = 300
HEIGHT = 170
_SHAPES = {"p50": "circle", "p99": "diamond"}
_DASHES = {"p50": [1, 0], "p99": [5, 2]}


def load_chart(curve: LoadCurve) -> ChartFigure:
    """p50 and p99 over the reached IOPS, one point per load, in the order of the loads. Points are
    labelled with their load; saturated ones are hollow."""
    log = measure.wants_log(point.iops for point in curve.points)
    asked = "numbers: I/Os in flight"
    if curve.offered:
        shares = curve.points[-1].words.endswith("%")
        asked = "numbers: share of the capacity that was offered" if shares else "names: steps"
    runs = f"median of n = {curve.runs} runs on one disk, no interval"
    parts = [f"latency (logarithmic) over IOPS reached; {asked}"]
    if any(point.saturated for point in curve.points):
        parts.append("hollow: saturated, more load only adds latency")
    parts.append(runs if curve.runs > 1 else "no interval (n = 1 run)")
    kind = "offered" if curve.offered else "depth"
    return ChartFigure(
        title=f"{curve.name} {curve.direction}: latency against throughput",
        subtitle="; ".join(parts),
        drawing=lambda log: _drawing(curve, log=log),
        id=f"load-{curve.name.replace(' ', '-')}-{curve.direction}-{kind}",
        alt=_loads_in_words(curve),
        log=log or None,
    )


def _drawing(curve: LoadCurve, *, log: bool) -> Spec:
    marks = [
        _mark(curve, point, name, ns)
        for point in curve.points
        for name, ns in (("p50", point.p50_ns), ("p99", point.p99_ns))
        if ns
    ]
    rates = [mark["iops"] for mark in marks] or [1.0]
    domain = measure.log_domain(rates) if log else [0.0, max(rates) * 1.06]
    at = {
        "x": measure.value_axis("iops", "iops", domain, log=log, ticks=5),
        "y": measure.latency_axis("ns", measure.log_domain(mark["ns"] for mark in marks)),
    }
    legend = {"title": None, "symbolStrokeWidth": 0, "symbolFillColor": MUTED}
    along = {
        "order": measure.amount("load"),
        "strokeDash": measure.by_name("which", _DASHES, legend),
    }
    shape = {"shape": measure.by_name("which", _SHAPES, legend)}
    colour = OF_DIRECTION[curve.direction]
    layers = [layer("line", marks, at | along, strokeWidth=1.5, color=colour)]
    for hollow in (False, True):
        of_kind = [mark for mark in marks if mark["saturated"] is hollow]
        style = {"filled": not hollow, "strokeWidth": 1.8, "size": 52, "opacity": 1}
        layers.append(described("point", of_kind, at | shape, color=colour, **style))
    layers.append(placed([mark for mark in marks if mark["which"] == "p50"], at, "below"))
    return layered(layers, WIDTH, HEIGHT)


def _mark(curve: LoadCurve, point: LoadPoint, name: str, ns: float) -> Row:
    parts = [
        f"{point.step} · {point.words}{' offered' if curve.offered else ''}",
        f"{measure.bare('iops', point.iops)} IOPS",
        f"{name} {measure.bare('lat_ns', ns)}",
        "saturated" if point.saturated else "",
        f"n = {counted(curve.runs, 'run')}",
    ]
    return {
        "iops": point.iops,
        "ns": ns,
        "which": name,
        "load": point.load,
        "saturated": point.saturated,
        "text": point.words.removeprefix("QD "),
        "description": " · ".join(filter(None, parts)),
    }


def _loads_in_words(curve: LoadCurve) -> str:
    """The first and the last load, and the last before saturation."""
    served = [point for point in curve.points if not point.saturated]
    chosen = dict.fromkeys([curve.points[0], *(served[-1:]), curve.points[-1]])
    parts = [
        f"{point.words} reached {measure.bare('iops', point.iops)} IOPS"
        + (f" at p50 {measure.bare('lat_ns', point.p50_ns)}" if point.p50_ns else "")
        + (" (saturated)" if point.saturated else "")
        for point in chosen
    ]
    return f"{curve.name} {curve.direction}: {'; '.join(parts)}."


PANEL_HEIGHT, CELL = 110, 46
_DARK_FROM = 4
"""From this step of colour on a text has the lightest colour, before it that of ink."""


def block_chart(curve: LoadCurve) -> ChartFigure:
    """IOPS above, MB/s below, over the block size (logarithmic): where the one falls and the other
    is flat, throughput is the limit."""
    words = f"{curve.name} {curve.direction}" if curve.direction not in curve.name else curve.name
    flight = f"{counted(curve.in_flight, 'I/O')} in flight"
    runs = f"median of n = {curve.runs} runs on one disk" if curve.runs > 1 else "n = 1 run"
    most = max(curve.points, key=lambda point: point.bytes_per_s)
    first = curve.points[0]
    return ChartFigure(
        title=f"{words}: rate over block size",
        subtitle=f"{flight}; {runs}, no interval",
        drawing=lambda _: {
            "vconcat": [_block_panel(curve, metric) for metric in ("iops", "bytes_per_s")],
            "spacing": 12,
        },
        id=f"blocks-{curve.name}-{curve.direction}-{curve.in_flight}",
        alt=f"{words}, {flight}: {measure.with_unit('iops', first.iops)} in blocks of "
        f"{format_bytes(first.load)}; the most throughput is "
        f"{measure.with_unit('bytes_per_s', most.bytes_per_s)}, in blocks of "
        f"{format_bytes(most.load)}.",
    )


def _block_panel(curve: LoadCurve, metric: str) -> Spec:
    last = metric == "bytes_per_s"
    axis = {
        "values": [point.load for point in curve.points],
        "labelExpr": "format(datum.value / 1024, ',~r')",
        "labels": last,
        "labelOverlap": "greedy",
        "labelFlush": False,
        "title": "block size, KiB" if last else None,
        "grid": True,
    }
    rows = []
    for point in curve.points:
        rates = (measure.with_unit(rate, getattr(point, rate)) for rate in ("iops", "bytes_per_s"))
        size, n = format_bytes(point.load), f"n = {counted(curve.runs, 'run')}"
        row = {"size": point.load, "value": getattr(point, metric)}
        rows.append(row | {"description": " · ".join([size, *rates, n])})
    top = max(row["value"] for row in rows) * 1.08
    at = {
        "x": measure.amount("size", axis=axis, scale={"type": "log", "base": 2, "nice": False}),
        "y": measure.value_axis("value", metric, [0.0, top], ticks=3, minExtent=40),
    }
    colour = OF_DIRECTION[curve.direction]
    layers = [
        layer("line", rows, at, strokeWidth=1.5, color=colour),
        described("point", rows, at, filled=True, size=50, color=colour, opacity=1),
    ]
    return layered(layers, WIDTH, PANEL_HEIGHT)


def mix_chart(cells: Sequence[LoadPoint]) -> ChartFigure:
    """The p99 of reads for each pair of shares, as text and colour; a pair without enough reads
    has none."""
    known = [cell for cell in cells if cell.p99_ns is not None]
    alone = [cell for cell in known if not cell.writes]
    worst = max(known, key=_tail)
    calm = max(alone or known, key=lambda cell: cell.load)
    return ChartFigure(
        title="p99 of reads next to writes",
        subtitle="offered reads and writes, each as a share of what the disk reaches with it "
        "alone; no interval",
        drawing=lambda _: _mix_drawing(known),
        id="mixed",
        alt=f"Reads take up to {measure.bare('lat_ns', _tail(calm))} (p99) at "
        f"{_share(calm.load)} of reads and {_share(calm.writes)} of writes, and up to "
        f"{measure.bare('lat_ns', _tail(worst))} at {_share(worst.load)} and "
        f"{_share(worst.writes)}.",
    )


def _mix_drawing(cells: Sequence[LoadPoint]) -> Spec:
    bounds = bounds_of(list(map(_tail, cells)))
    rows = []
    for cell in cells:
        heat, p99 = bisect_right(bounds, _tail(cell)), measure.bare("lat_ns", _tail(cell))
        reads, writes = _share(cell.load), _share(cell.writes)
        row = {"reads": reads, "writes": writes, "colour": HEAT[heat], "text": p99}
        row["ink"] = HEAT[0] if heat >= _DARK_FROM else INK
        row["description"] = f"{cell.step} · reads {reads}, writes {writes} · p99 {p99}"
        if cell.iops:
            row["description"] += f" · {measure.with_unit('iops', cell.iops)} of reads"
        rows.append(row)
    shares = {
        "writes": list(map(_share, sorted({cell.writes for cell in cells}))),
        "reads": list(map(_share, sorted({cell.load for cell in cells}, reverse=True))),
    }
    at = {
        channel: measure.named(name, sort=shares[name], axis={"labelAngle": 0, "title": name})
        for channel, name in (("x", "writes"), ("y", "reads"))
    }
    fill, ink = ({"color": measure.named(of, scale=None)} for of in ("colour", "ink"))
    layers = [described("rect", rows, at | fill), layer("text", rows, at | ink)]
    return layered(
        layers, CELL * 7 // 5 * len(shares["writes"]), CELL * len(shares["reads"]) * 3 // 4
    )


def _tail(cell: LoadPoint) -> float:
    return cell.p99_ns or 0.0


def _share(share: float) -> str:
    return f"{share * 100:.0f} %"


def blocks(data: ChartData) -> Iterator[ChartFigure]:
    """The rate over the block size, of the first families of steps that vary it."""
    if data.single is not None:
        yield from map(block_chart, block_curves(data.single.measurements)[:MOST_CURVES])


def mixed(data: ChartData) -> Iterator[ChartFigure]:
    """The p99 of reads beside writes, where a matrix of both was measured."""
    if data.single is not None:
        cells = mix_cells(data.single.measurements, data.plan)
        if any(cell.p99_ns is not None for cell in cells):
            yield mix_chart(cells)
