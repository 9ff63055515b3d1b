"""Price against performance: one dot per disk, price to the right, speed upwards.

Lines of equal price per 1,000 IOPS (or 100 MB/s) rise from the lower left: a disk above the line of
another delivers more per dollar.

A label is tried right, left, above, below and at the corners of its dot, and the first free place
is used, the most crowded dot first. A label without a free place is omitted: the hover text of its
mark names the dot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import (
    chart_of,
    dots_by_source,
    interval_rule,
    layered,
    value_axis,
)
from diskbench.report.charts.measure import (
    CHARACTER_PX,
    linear_domain,
    log_domain,
    title,
    wants_log,
)
from diskbench.report.charts.palette import Palette
from diskbench.report.charts.point import ChartPoint, middle, provider_colour, row, subtitle
from diskbench.units import format_usd

if TYPE_CHECKING:
    import altair as alt


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


@dataclass(frozen=True)
class _Plane:
    """Both axes: maps a price and a value to pixels."""

    x: tuple[float, float]
    y: tuple[float, float]
    log_x: bool
    log_y: bool

    def at(self, usd: float, value: float) -> tuple[float, float]:
        """Pixels from the top left."""
        right = _share(usd, self.x, log=self.log_x) * WIDTH
        return right, (1 - _share(value, self.y, log=self.log_y)) * HEIGHT


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
    # Use the axis that suits the values, or the one on which more labels fit.
    log = positive and (
        wants_log(prices)
        or wants_log(values)
        or _labelled(priced, log=True) > _labelled(priced, log=False)
    )
    best = min(priced, key=lambda disk: disk.per)
    dearest = max(priced, key=lambda disk: disk.per)
    unit = f"{title(metric)} against US dollars a month ({prices_of})"
    return ChartFigure(
        title=heading,
        subtitle=subtitle(points, unit),
        drawing=_drawing(priced, metric, palette, log_x=False, log_y=False),
        id=name,
        alt=f"{heading}: of {len(priced)} disks {best.point.label} costs least for "
        f"{_PER[metric][1]}, {_usd(best.per)} a month, and {dearest.point.label} most, "
        f"{_usd(dearest.per)}.",
        log_drawing=_drawing(priced, metric, palette, log_x=True, log_y=True) if positive else None,
        log_first=log,
    )


def _drawing(
    priced: Sequence[Priced], metric: str, palette: Palette, *, log_x: bool, log_y: bool
) -> alt.TopLevelMixin:

    plane = _plane(priced, log_x=log_x, log_y=log_y)
    x = value_axis("x", "usd", "usd", plane.x, log=log_x)
    y = value_axis("y", "value", metric, plane.y, log=log_y)
    rows = [_row(disk) for disk in priced]
    layers: list[Any] = _bargains(priced, metric, plane, palette, x, y) if log_x else []
    colour = provider_colour([disk.point for disk in priced], palette, legend=True)
    layers += dots_by_source(rows, size=85, encode={"x": x, "y": y, "color": colour})
    layers += [*_intervals(priced, palette, x, y), *_labels(priced, plane, palette)]
    return layered(layers, WIDTH, HEIGHT)


def _row(disk: Priced) -> dict[str, Any]:
    fields = row(disk.point)
    text = f"{_usd(disk.usd)} a month"
    text += f", {_usd(disk.per)} for {_PER[disk.point.metric][1]}" if disk.point.value else ""
    text += f" ({disk.source})" if disk.source else ""
    return fields | {"usd": disk.usd, "description": f"{fields['description']} · {text}"}


def _usd(usd: float) -> str:
    """A price in dollars and cents: a monthly price needs no more precision."""
    return f"${usd:,.2f}" if usd >= 0.01 else format_usd(usd)


def _labels(priced: Sequence[Priced], plane: _Plane, palette: Palette) -> list[Any]:

    import altair as alt

    dots = _label_dots(priced, plane)
    layers = []
    for dot, spot in zip(dots, place(dots, width=WIDTH, height=HEIGHT), strict=True):
        if spot is None or not dot.text:
            continue
        text = chart_of([{"text": dot.text}]).mark_text(
            x=spot.x, y=spot.y, align=spot.align, baseline="middle", color=palette.ink, aria=False
        )
        layers.append(text.encode(text=alt.Text("text:N")))
    return layers


def _intervals(priced: Sequence[Priced], palette: Palette, x: alt.X, y: alt.Y) -> list[Any]:
    """The interval of several own points of one disk, if there are enough."""
    import altair as alt

    disks: dict[str, list[Priced]] = {}
    for disk in priced:
        if disk.point.source == "measured":
            disks.setdefault(disk.point.label, []).append(disk)
    rows = [
        {"usd": of_disk[0].usd, "value": interval[0], "high": interval[1]}
        for of_disk in disks.values()
        if (interval := middle([disk.point for disk in of_disk]).interval)
    ]
    return interval_rule(rows, palette, {"x": x, "y": y, "y2": alt.Y2("high:Q")})


def _label_dots(priced: Sequence[Priced], plane: _Plane) -> list[Dot]:
    """Each dot with its label; of several dots with one name only the first is labelled."""
    labelled: set[str] = set()
    dots = []
    for disk in priced:
        text = _label(disk.point)
        dots.append(
            Dot(*plane.at(disk.usd, disk.point.value), text="" if text in labelled else text)
        )
        labelled.add(text)
    return dots


def _labelled(priced: Sequence[Priced], *, log: bool) -> int:
    """The number of labels that fit."""
    dots = _label_dots(priced, _plane(priced, log_x=log, log_y=log))
    return sum(spot is not None for spot in place(dots, width=WIDTH, height=HEIGHT))


def _label(point: ChartPoint) -> str:
    return f"{point.label} (yours)" if point.source == "measured" else point.label


def _bargains(
    priced: Sequence[Priced], metric: str, plane: _Plane, palette: Palette, x: alt.X, y: alt.Y
) -> list[Any]:
    """Lines of equal price per unit, one per power of ten, with the price at the lower end."""
    import altair as alt

    unit, words = _PER[metric]
    per = [disk.per for disk in priced if math.isfinite(disk.per) and disk.per > 0]
    powers = range(math.floor(math.log10(min(per))), math.ceil(math.log10(max(per))) + 1)
    layers: list[Any] = []
    for price in (10.0**power for power in powers):
        # value = usd / price × unit; cut to the plane
        low = max(plane.x[0], plane.y[0] * price / unit)
        high = min(plane.x[1], plane.y[1] * price / unit)
        if low >= high:
            continue
        ends = [{"usd": usd, "value": usd / price * unit} for usd in (low, high)]
        line = chart_of(ends).mark_line(
            color=palette.grid, strokeDash=[2, 3], strokeWidth=1.2, aria=False
        )
        layers.append(line.encode(x=x, y=y))
        at_right = math.isclose(high, plane.x[1])
        text = chart_of([ends[1] | {"text": f"${price:g}"}]).mark_text(
            align="left" if at_right else "center", baseline="middle" if at_right else "bottom",
            dx=4 if at_right else 0, dy=0 if at_right else -3, fontSize=10, color=palette.muted,
            aria=False,
        )  # fmt: skip
        layers.append(text.encode(x=x, y=y, text=alt.Text("text:N")))
    note = f"dashed: dollars a month for {words}"
    text = chart_of([{"text": note}]).mark_text(
        x=WIDTH, y=HEIGHT - 6, align="right", fontSize=10, color=palette.muted, aria=False
    )
    return [*layers, text.encode(text=alt.Text("text:N"))]


def _plane(priced: Sequence[Priced], *, log_x: bool, log_y: bool) -> _Plane:
    prices, values = [disk.usd for disk in priced], [disk.point.value for disk in priced]
    return _Plane(_bounds(prices, log=log_x), _bounds(values, log=log_y), log_x, log_y)


def _bounds(values: Sequence[float], *, log: bool) -> tuple[float, float]:
    low, high = log_domain(values) if log else linear_domain(max(values) * 1.08)
    return low, high


def _share(value: float, bounds: tuple[float, float], *, log: bool) -> float:
    low, high = bounds
    if log:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


HEIGHT_PX = 13.0
_AWAY = 8.0
_DOT = 6.0
Align = Literal["left", "right", "center"]


@dataclass(frozen=True)
class Dot:
    """A dot in pixels from the top left, and its label; without text it only occupies space."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Placed:
    """The place of a label: its anchor in pixels, and the alignment to it."""

    x: float
    y: float
    align: Align


_Box = tuple[float, float, float, float]


def place(dots: Sequence[Dot], *, width: float, height: float) -> tuple[Placed | None, ...]:
    """A place for each dot's label, or None if there is no room. Labels may extend beyond the right
    edge of the plot by a quarter of its width, but nowhere else."""
    taken: list[_Box] = [(d.x - _DOT, d.y - _DOT, d.x + _DOT, d.y + _DOT) for d in dots]
    places: list[Placed | None] = [None] * len(dots)
    edge = (0.0, 0.0, width * 1.25, height)
    crowded = sorted(
        range(len(dots)), key=lambda i: (-_neighbours(dots[i], dots), dots[i].y, dots[i].x)
    )
    for index in crowded:
        dot = dots[index]
        if not dot.text:
            continue
        for candidate in _candidates(dot):
            box = _box(candidate, dot.text)
            if _inside(box, edge) and not any(_overlap(box, placed) for placed in taken):
                places[index] = candidate
                taken.append(box)
                break
    return tuple(places)


def _candidates(dot: Dot) -> tuple[Placed, ...]:
    up, down = dot.y - _AWAY - HEIGHT_PX / 2, dot.y + _AWAY + HEIGHT_PX / 2
    return (
        Placed(dot.x + _AWAY, dot.y, "left"),
        Placed(dot.x - _AWAY, dot.y, "right"),
        Placed(dot.x, up, "center"),
        Placed(dot.x, down, "center"),
        Placed(dot.x + _AWAY / 2, up, "left"),
        Placed(dot.x + _AWAY / 2, down, "left"),
        Placed(dot.x - _AWAY / 2, up, "right"),
        Placed(dot.x - _AWAY / 2, down, "right"),
    )


def _box(placed: Placed, text: str) -> _Box:
    width = CHARACTER_PX * len(text)
    left_px = {"left": placed.x, "right": placed.x - width, "center": placed.x - width / 2}[
        placed.align
    ]
    return (left_px, placed.y - HEIGHT_PX / 2, left_px + width, placed.y + HEIGHT_PX / 2)


def _overlap(a: _Box, b: _Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _inside(box: _Box, edge: _Box) -> bool:
    return box[0] >= edge[0] and box[1] >= edge[1] and box[2] <= edge[2] and box[3] <= edge[3]


def _neighbours(dot: Dot, dots: Sequence[Dot]) -> int:
    return sum(
        abs(neighbour.x - dot.x) < 80 and abs(neighbour.y - dot.y) < 20 for neighbour in dots
    )
