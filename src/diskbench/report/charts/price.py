"""Price against performance: one dot per disk, price to the right, speed upwards. Lines of equal
price per 1,000 IOPS (or 100 MB/s) rise from the lower left: a disk above the line of another
delivers more per dollar."""

import math
from collections.abc import Sequence

from diskbench.analysis.repeats import median_interval
from diskbench.parallel import grouped
from diskbench.report.charts import measure
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import dots, layer, layered, placed
from diskbench.report.charts.measure import Spec
from diskbench.report.charts.palette import ACCENT, GRID, MUTED
from diskbench.report.charts.point import (
    ChartPoint,
    Row,
    machine_values,
    provider_colour,
    row,
    subtitle,
)
from diskbench.units import format_usd

WIDTH = 330
HEIGHT = 260
_PER = {"iops": (1000.0, "1,000 IOPS"), "bytes_per_s": (1e8, "100 MB/s")}


def price_chart(
    points: Sequence[ChartPoint],
    *,
    name: str,
    heading: str,
    prices_of: str,
    asked: float | None = None,
) -> ChartFigure:
    """Disks that have a price, by it and their figure; `prices_of` names the source and the date of
    the prices, and a line stands at the figure that is `asked` for. Raises ValueError for figures
    of several metrics, none, or one without price."""
    (metric,) = {point.metric for point in points}
    if metric not in _PER:
        raise ValueError(f"nothing is sold by {metric}")
    prices, values = [_usd(point) for point in points], [point.value for point in points]
    positive = min(prices) > 0 and min(values) > 0
    log = positive and (measure.wants_log(prices) or measure.wants_log(values))
    best, dearest = min(points, key=_per), max(points, key=_per)
    beside = len({point.source for point in points}) > 1

    def drawing(log: bool) -> Spec:
        at = {}
        for axis, field, unit, of in (("x", "usd", "usd", prices), ("y", "value", metric, values)):
            domain = measure.log_domain(of) if log else [0.0, max(of) * 1.08 or 1.0]
            at[axis] = measure.value_axis(field, unit, domain, log=log)
        rows = [_row(point, beside=beside) for point in points]
        colour = {"color": provider_colour(points, legend=True)}
        stretch = at | {"y2": {"field": "high"}}
        line = [] if asked is None else [{"value": asked}]
        left = {"usd": at["x"]["scale"]["domain"][0], "text": "", "dy": 0}
        along = [left | row | {"dx": dx} for row in line for dx in range(0, WIDTH, 12)]
        layers = [
            layer("rule", line, {"y": at["y"]}, color=ACCENT, strokeWidth=1.5),
            *(_bargains(points, at) if log else ()),
            *dots(rows, at | colour, size=85),
            layer("rule", _intervals(points), stretch, color=ACCENT, strokeWidth=2),
            placed(rows, at, "inside" if log else "beside", along),
        ]
        return layered(layers, WIDTH, HEIGHT)

    return ChartFigure(
        title=heading,
        subtitle=subtitle(
            points, f"{measure.title(metric)} against US dollars a month ({prices_of})"
        ),
        drawing=drawing,
        id=name,
        alt=f"{heading}: of {len(points)} disks {best.label} costs least for {_PER[metric][1]}, "
        f"{_dollars(_per(best))} a month, and {dearest.label} most, {_dollars(_per(dearest))}.",
        log=log if positive else None,
    )


def _usd(point: ChartPoint) -> float:
    assert point.usd is not None, point.label
    return point.usd


def _per(point: ChartPoint) -> float:
    """Dollars per month for 1,000 IOPS, or for 100 MB/s; infinite if the figure is 0."""
    unit = _PER[point.metric][0]
    return _usd(point) / (point.value / unit) if point.value else math.inf


def _row(point: ChartPoint, *, beside: bool) -> Row:
    """The fields of a mark; `beside`: own figures and published ones are in one chart."""
    own = beside and point.source == "measured"
    label = f"{point.label} (yours)" if own else point.label
    text = f"{_dollars(_usd(point))} a month"
    text += f", {_dollars(_per(point))} for {_PER[point.metric][1]}" if point.value else ""
    description = f"{point.description} · {text}"
    return row(point) | {"usd": point.usd, "text": label, "description": description}


def _dollars(usd: float) -> str:
    """A price in dollars and cents: a monthly price needs no more precision."""
    return f"${usd:,.2f}" if usd >= 0.01 else format_usd(usd)


def _intervals(points: Sequence[ChartPoint]) -> list[Row]:
    """The interval of several own points of one disk, if there are enough."""
    own = (point for point in points if point.source == "measured")
    return [
        {"usd": of_disk[0].usd, "value": interval.low, "high": interval.high}
        for of_disk in grouped(own, lambda point: point.label).values()
        if (interval := median_interval(machine_values(of_disk)))
    ]


def _bargains(points: Sequence[ChartPoint], at: dict[str, Spec]) -> list[Spec]:
    """Lines of equal price per unit, one per power of ten, with the price at the upper end."""
    unit, words = _PER[points[0].metric]
    (left, right_end), (bottom, top_end) = (at[axis]["scale"]["domain"] for axis in "xy")
    per = [_per(point) for point in points if math.isfinite(_per(point)) and _per(point) > 0]
    powers = range(math.floor(math.log10(min(per))), math.ceil(math.log10(max(per))) + 1)
    ends: list[Row] = []
    for price in (10.0**power for power in powers):
        # value = usd / price × unit; cut to the plane
        low, high = max(left, bottom * price / unit), min(right_end, top_end * price / unit)
        if low < high:
            side = "right" if math.isclose(high, right_end) else "top"
            ends += [
                {"usd": usd, "value": usd / price * unit, "text": f"${price:,g}", "at": end}
                for usd, end in ((low, ""), (high, side))
            ]
    small = {"color": MUTED}
    note = [{"text": f"dashed: dollars a month for {words}"}]
    right, top = ([end for end in ends if end["at"] == side] for side in ("right", "top"))
    return [
        layer("line", ends, at | {"detail": measure.named("text")}, color=GRID, strokeDash=[2, 3],
              strokeWidth=1.2),
        layer("text", right, at, align="left", dx=4, **small),
        layer("text", top, at, baseline="bottom", dy=-3, **small),
        layer("text", note, {}, x=WIDTH, y=HEIGHT - 6, align="right", **small),
    ]  # fmt: skip
