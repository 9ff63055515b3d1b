"""Charts of steps that vary a load: IOPS and MB/s over the block size, and the latency of reads for
each share of reads and writes that was offered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from diskbench.report.assemble.chart_data import ChartData
from diskbench.report.assemble.grids import (
    BlockCurve,
    BlockPoint,
    MixCell,
    block_curves,
    mix_cells,
)
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.heat import bounds_of, place_of
from diskbench.report.charts.layers import layer, layered
from diskbench.report.charts.measure import Spec, amount, bare, named, title, value_axis, with_unit
from diskbench.report.charts.palette import HEAT, INK, OF_DIRECTION
from diskbench.report.charts.registry import chart
from diskbench.units import format_bytes

MOST_CURVES = 2
"""Curves over the block size in one report; our choice."""
WIDTH, PANEL_HEIGHT, CELL = 300, 110, 46
_DARK_FROM = 4
"""From this step of colour on a text has the lightest colour, before it that of ink."""


def block_chart(curve: BlockCurve) -> ChartFigure:
    """IOPS above, MB/s below, over the block size (logarithmic): where the one falls and the other
    is flat, throughput is the limit."""
    words = f"{curve.rw} {curve.direction}" if curve.direction not in curve.rw else curve.rw
    flight = f"{curve.in_flight:,} I/O{'s' * (curve.in_flight != 1)} in flight"
    runs = f"median of n = {curve.runs} runs on one disk" if curve.runs > 1 else "n = 1 run"
    most = max(curve.points, key=lambda point: point.bytes_per_s)
    first = curve.points[0]
    return ChartFigure(
        title=f"{words}: rate over block size",
        subtitle=f"{flight}; {runs}, no interval",
        drawing=lambda _: {
            "vconcat": [
                _block_panel(curve, "iops", last=False),
                _block_panel(curve, "bytes_per_s", last=True),
            ],
            "spacing": 12,
        },
        id=f"blocks-{curve.rw}-{curve.direction}-{curve.in_flight}",
        alt=f"{words}, {flight}: {with_unit('iops', first.iops)} in blocks of "
        f"{format_bytes(first.block_bytes)}; the most throughput is "
        f"{with_unit('bytes_per_s', most.bytes_per_s)}, in blocks of "
        f"{format_bytes(most.block_bytes)}.",
    )


def _block_panel(curve: BlockCurve, metric: str, *, last: bool) -> Spec:
    axis = {
        "values": [point.block_bytes for point in curve.points],
        "labelExpr": "format(datum.value / 1024, ',~r')",
        "labels": last,
        "labelOverlap": "greedy",
        "title": "block size, KiB" if last else None,
        "grid": True,
        "domain": False,
        "ticks": False,
    }
    rows = [
        {
            "size": point.block_bytes,
            "value": getattr(point, metric),
            "words": _point_words(point, curve.runs),
        }
        for point in curve.points
    ]
    top = max(row["value"] for row in rows) * 1.08
    at = {
        "x": amount("size", axis=axis, scale={"type": "log", "base": 2, "nice": False}),
        "y": value_axis("value", metric, [0.0, top], ticks=3, minExtent=40),
    }
    colour = OF_DIRECTION[curve.direction]
    layers = [
        layer("line", rows, at, strokeWidth=1.5, color=colour),
        layer("point", rows, at | {"description": named("words")}, filled=True, size=50,
              color=colour, opacity=1),
    ]  # fmt: skip
    return layered(layers, WIDTH, PANEL_HEIGHT)


def _point_words(point: BlockPoint, runs: int) -> str:
    rates = f"{with_unit('iops', point.iops)} · {with_unit('bytes_per_s', point.bytes_per_s)}"
    return f"{format_bytes(point.block_bytes)} · {rates} · n = {runs} run{'s' * (runs != 1)}"


def mix_chart(cells: Sequence[MixCell]) -> ChartFigure:
    """The p99 of reads for each pair of shares, as text and colour; a pair without enough reads
    has none."""
    known = [cell for cell in cells if cell.read_p99_ns is not None]
    alone = [cell for cell in known if not cell.write_share]
    worst = max(known, key=lambda cell: cell.read_p99_ns or 0.0)
    calm = max(alone or known, key=lambda cell: cell.read_share)
    return ChartFigure(
        title="p99 of reads beside writes",
        subtitle="offered reads and writes, each as a share of what the disk does of it alone; "
        "no interval",
        drawing=lambda _: _mix_drawing(known),
        id="mixed",
        alt=f"Reads take up to {bare('lat_ns', calm.read_p99_ns or 0.0)} (p99) at "
        f"{_share(calm.read_share)} of reads and {_share(calm.write_share)} of writes, and up to "
        f"{bare('lat_ns', worst.read_p99_ns or 0.0)} at {_share(worst.read_share)} and "
        f"{_share(worst.write_share)}.",
    )


def _mix_drawing(cells: Sequence[MixCell]) -> Spec:
    bounds = bounds_of([cell.read_p99_ns or 0.0 for cell in cells])
    rows = []
    for cell in cells:
        heat = place_of(cell.read_p99_ns or 0.0, bounds)
        rows.append(
            {
                "reads": _share(cell.read_share),
                "writes": _share(cell.write_share),
                "colour": HEAT[heat],
                "ink": HEAT[0] if heat >= _DARK_FROM else INK,
                "text": bare("lat_ns", cell.read_p99_ns or 0.0),
                "words": f"{cell.step} · reads {_share(cell.read_share)}, writes "
                f"{_share(cell.write_share)} · p99 {bare('lat_ns', cell.read_p99_ns or 0.0)}"
                + (f" · {with_unit(*_served(cell))} of reads" if cell.read_iops else ""),
            }
        )
    reads = sorted({cell.read_share for cell in cells}, reverse=True)
    writes = sorted({cell.write_share for cell in cells})
    bare_axis = {"domain": False, "ticks": False, "labelAngle": 0}
    at = {
        "x": named("writes", sort=list(map(_share, writes)), axis=bare_axis | {"title": "writes"}),
        "y": named("reads", sort=list(map(_share, reads)), axis=bare_axis | {"title": "reads"}),
    }
    fill = {"color": named("colour", scale=None), "description": named("words")}
    text = {"text": named("text"), "color": named("ink", scale=None)}
    layers = [layer("rect", rows, at | fill), layer("text", rows, at | text)]
    return layered(layers, CELL * 7 // 5 * len(writes), CELL * len(reads) * 3 // 4)


def _served(cell: MixCell) -> tuple[str, float]:
    return "iops", cell.read_iops or 0.0


def _share(share: float) -> str:
    return f"{share * 100:.0f} %"


@chart(
    "blocks",
    title=f"{title('iops')} and MB/s over the block size",
    needs="one trial",
    rank=45,
)
def _blocks(data: ChartData) -> Iterator[ChartFigure]:
    if data.single is not None:
        yield from map(block_chart, block_curves(data.single.measurements)[:MOST_CURVES])


@chart(
    "mixed",
    title="p99 of reads for each share of reads and writes offered",
    needs="one trial",
    rank=46,
)
def _mixed(data: ChartData) -> Iterator[ChartFigure]:
    if data.single is not None:
        cells = mix_cells(data.single.measurements, data.plan)
        if any(cell.read_p99_ns is not None for cell in cells):
            yield mix_chart(cells)
