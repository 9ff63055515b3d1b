"""Price against performance: one dot per disk, price to the right, speed upwards.

Lines of equal price per 1,000 IOPS (or 100 MB/s) rise from the lower left: a disk above the line of
another delivers more per dollar.

A label for which there is no room beside its dot is omitted: the hover text of its mark names the
dot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import dots, interval_rule, layer, layered, placed
from diskbench.report.charts.measure import (
    Channel,
    Spec,
    log_domain,
    named,
    title,
    value_axis,
    wants_log,
)
from diskbench.report.charts.palette import Palette
from diskbench.report.charts.point import ChartPoint, Row, middle, provider_colour, row, subtitle
from diskbench.units import format_usd

WIDTH = 330
HEIGHT = 260
_PER = {"iops": (1000.0, "1,000 IOPS"), "bytes_per_s": (1e8, "100 MB/s")}


@dataclass(frozen=True)
class Priced:
    """A figure, and the price of its disk in US dollars per month. `source` cites the price."""

    point: ChartPoint
    usd: float
    source: str = ""

    @property
    def per(self) -> float:
        """Dollars per month for 1,000 IOPS, or for 100 MB/s; infinite if the figure is 0."""
        unit = _PER[self.point.metric][0]
        return self.usd / (self.point.value / unit) if self.point.value else math.inf


def price_chart(
    priced: Sequence[Priced], palette: Palette, *, name: str, heading: str, prices_of: str
) -> ChartFigure:
    """Disks by price and figure; `prices_of` names the source and the date of the prices.

    Raises ValueError for figures of several metrics, none, or one that has no price per unit.
    """
    points = [disk.point for disk in priced]
    (metric,) = {point.metric for point in points}
    if metric not in _PER:
        raise ValueError(f"nothing is sold by {metric}")
    prices, values = [disk.usd for disk in priced], [disk.point.value for disk in priced]
    positive = min(prices) > 0 and min(values) > 0
    log = positive and (wants_log(prices) or wants_log(values))
    best = min(priced, key=lambda disk: disk.per)
    dearest = max(priced, key=lambda disk: disk.per)
    unit = f"{title(metric)} against US dollars a month ({prices_of})"
    return ChartFigure(
        title=heading,
        subtitle=subtitle(points, unit),
        drawing=lambda log: _drawing(priced, metric, palette, log=log),
        id=name,
        alt=f"{heading}: of {len(priced)} disks {best.point.label} costs least for "
        f"{_PER[metric][1]}, {_usd(best.per)} a month, and {dearest.point.label} most, "
        f"{_usd(dearest.per)}.",
        both=positive,
        log_first=log,
    )


def _drawing(priced: Sequence[Priced], metric: str, palette: Palette, *, log: bool) -> Spec:
    x_domain = _bounds([disk.usd for disk in priced], log=log)
    y_domain = _bounds([disk.point.value for disk in priced], log=log)
    x = value_axis("usd", "usd", x_domain, log=log)
    y = value_axis("value", metric, y_domain, log=log)
    at = {"x": x, "y": y}
    rows = [_row(disk) for disk in priced]
    colour = provider_colour([disk.point for disk in priced], palette, legend=True)
    layers = [
        *(_bargains(priced, metric, x_domain, y_domain, palette, at) if log else ()),
        *dots(rows, at | {"color": colour}, size=85),
        interval_rule(_intervals(priced), palette, at | {"y2": {"field": "high"}}),
        placed(rows, at, palette, "inside" if log else "beside"),
    ]
    return layered(layers, WIDTH, HEIGHT)


def _row(disk: Priced) -> Row:
    fields, point = row(disk.point), disk.point
    label = f"{point.label} (yours)" if point.source == "measured" else point.label
    text = f"{_usd(disk.usd)} a month"
    text += f", {_usd(disk.per)} for {_PER[point.metric][1]}" if point.value else ""
    text += f" ({disk.source})" if disk.source else ""
    told = f"{fields['description']} · {text}"
    return fields | {"usd": disk.usd, "text": label, "description": told}


def _usd(usd: float) -> str:
    """A price in dollars and cents: a monthly price needs no more precision."""
    return f"${usd:,.2f}" if usd >= 0.01 else format_usd(usd)


def _intervals(priced: Sequence[Priced]) -> list[Row]:
    """The interval of several own points of one disk, if there are enough."""
    disks: dict[str, list[Priced]] = {}
    for disk in priced:
        if disk.point.source == "measured":
            disks.setdefault(disk.point.label, []).append(disk)
    return [
        {"usd": of_disk[0].usd, "value": interval[0], "high": interval[1]}
        for of_disk in disks.values()
        if (interval := middle([disk.point for disk in of_disk]).interval)
    ]


def _bargains(
    priced: Sequence[Priced],
    metric: str,
    x_domain: Sequence[float],
    y_domain: Sequence[float],
    palette: Palette,
    at: dict[str, Channel],
) -> list[Spec]:
    """Lines of equal price per unit, one per power of ten, with the price at the upper end."""
    unit, words = _PER[metric]
    per = [disk.per for disk in priced if math.isfinite(disk.per) and disk.per > 0]
    powers = range(math.floor(math.log10(min(per))), math.ceil(math.log10(max(per))) + 1)
    ends: list[Row] = []
    for price in (10.0**power for power in powers):
        # value = usd / price × unit; cut to the plane
        low = max(x_domain[0], y_domain[0] * price / unit)
        high = min(x_domain[1], y_domain[1] * price / unit)
        if low < high:
            side = "right" if math.isclose(high, x_domain[1]) else "top"
            ends += [
                {"usd": usd, "value": usd / price * unit, "text": f"${price:g}", "at": end}
                for usd, end in ((low, ""), (high, side))
            ]
    text = at | {"text": named("text")}
    small = {"fontSize": 10, "color": palette.muted}
    note = [{"text": f"dashed: dollars a month for {words}"}]
    return [
        layer("line", ends, at | {"detail": named("text")}, color=palette.grid, strokeDash=[2, 3],
              strokeWidth=1.2),
        layer("text", [end for end in ends if end["at"] == "right"], text, align="left", dx=4,
              **small),
        layer("text", [end for end in ends if end["at"] == "top"], text, baseline="bottom", dy=-3,
              **small),
        layer("text", note, {"text": named("text")}, x=WIDTH, y=HEIGHT - 6, align="right", **small),
    ]  # fmt: skip


def _bounds(values: Sequence[float], *, log: bool) -> list[float]:
    return log_domain(values) if log else [0.0, max(values) * 1.08 or 1.0]
