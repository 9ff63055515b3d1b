"""The spread of one figure's values by group: by region, by hour of the day, by disk.

    20 values or more   the density of the values or their logarithms as a violin, with a box in it
    5 to 19             a box, and every value as a dot
    fewer               every value as a dot, and the median: four values are too few for a box

A box holds the middle half (quartiles by linear interpolation, Hyndman & Fan 1996, type 7), its
line is the median, and its whiskers reach the extremes, so that nothing is left out of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import chart_of, layered, value_axis
from diskbench.report.charts.measure import label_room, log_domain, title, wants_log, with_unit
from diskbench.report.charts.palette import Palette
from diskbench.report.charts.point import ChartPoint, carried, middle, row

if TYPE_CHECKING:
    import altair as alt

WIDTH = 320
ROW = 40
VIOLIN_FROM = 20
BOX_FROM = 5
LEAST_MACHINES = 6
"""Minimum numbers of values. Our choices; the third is the least for a 95 % interval (MR-6)."""
_STEPS = 64
By = Literal["region", "hour", "label"]


@dataclass(frozen=True)
class SpreadRow:
    """The points of one row: one per machine, or samples of one machine, which give no interval."""

    name: str
    points: tuple[ChartPoint, ...]

    @property
    def values(self) -> list[float]:
        """The values, ascending."""
        return sorted(point.value for point in self.points)


def groups_of(points: Iterable[ChartPoint], by: By) -> tuple[SpreadRow, ...]:
    """Points by region (with the provider), by hour of the day in UTC, or by label. Hours and
    regions are sorted; points without one are left out (`undated` names those without an hour)."""
    groups: dict[str, list[ChartPoint]] = {}
    for point in points:
        name = _name(point, by)
        if name:
            groups.setdefault(name, []).append(point)
    names = list(groups) if by == "label" else sorted(groups)
    return tuple(SpreadRow(name, tuple(groups[name])) for name in names)


def undated(points: Iterable[ChartPoint]) -> str:
    """The trials without an hour, as text; empty if all have one."""
    named = dict.fromkeys(point.key for point in points if not point.when)
    return f"left out, because they have no date: {', '.join(named)}" if named else ""


def spread_chart(
    groups: Sequence[SpreadRow],
    palette: Palette,
    *,
    name: str,
    heading: str,
    samples: bool = False,
    left_out: str = "",
) -> ChartFigure:
    """Groups of points of one metric, one below the other. `samples`: each group has samples of one
    machine, which give no interval (MR-5). `left_out` says what is not drawn, and why.

    Raises ValueError for points of several metrics, or none.
    """
    (metric,) = {point.metric for group in groups for point in group.points}
    values = [value for group in groups for value in group.values]
    log = wants_log(values) and min(values) > 0
    return ChartFigure(
        title=heading,
        subtitle="; ".join(filter(None, (_subtitle(groups, metric, samples=samples), left_out))),
        drawing=_drawing(groups, metric, palette, log=False, samples=samples),
        id=name,
        alt=_sentence(groups, metric, heading),
        log_drawing=_drawing(groups, metric, palette, log=True, samples=samples) if log else None,
        log_first=log,
    )


def _name(point: ChartPoint, by: By) -> str:
    if by == "label":
        return point.label
    if by == "region":
        return " ".join(word for word in (point.provider, point.region) if word)
    try:
        when = datetime.fromisoformat(point.when)
    except ValueError:
        return ""
    return f"{(when.astimezone(UTC) if when.tzinfo else when).hour:02d}:00 UTC"


def _drawing(
    groups: Sequence[SpreadRow], metric: str, palette: Palette, *, log: bool, samples: bool
) -> alt.TopLevelMixin:
    import altair as alt

    values = [value for group in groups for value in group.values]
    low, high = min(values), max(values)
    if log:
        domain = log_domain(values)
    else:
        # From zero, unless that would push all to one side: then the axis shows its bounds.
        edge = (high - low) * 0.06 or high * 0.05 or 1.0
        domain = [0.0 if low <= high / 2 else low - edge, high + edge]
    names = [f"{group.name} (n = {len(group.points)})" for group in groups]
    labels = alt.Axis(
        title=None,
        values=list(range(len(groups))),
        labelExpr=f"{json.dumps(names)}[datum.value]",
        ticks=False,
        domain=False,
        grid=False,
        labelLimit=0,
        labelPadding=8,
        minExtent=label_room(names),
    )
    rows = alt.Scale(domain=[len(groups) - 0.45, -0.55], nice=False, zero=False)

    at = partial(value_axis, "x", metric=metric, domain=domain, log=log)

    def level(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=rows, axis=labels)

    layers: list[Any] = []
    for place, group in enumerate(groups):
        layers += _group(group, place, at, level, palette, log=log, samples=samples)
    height = ROW * len(groups)
    return layered(layers, WIDTH, height)


def _group(
    group: SpreadRow,
    place: int,
    at: Callable[[str], alt.X],
    level: Callable[[str], alt.Y],
    palette: Palette,
    *,
    log: bool,
    samples: bool,
) -> list[Any]:

    import altair as alt

    n, box = len(group.points), _box(group, place)
    layers: list[Any] = []
    if n >= VIOLIN_FROM and box["low"] < box["high"]:
        outline = _density(group.values, place, log=log)
        violin = chart_of(outline).mark_line(
            color=palette.series[0], strokeWidth=1, fill=palette.series[0], fillOpacity=0.18,
            aria=False,
        )  # fmt: skip
        layers.append(violin.encode(x=at("value"), y=level("y"), order=alt.Order("order:Q")))
    base = chart_of([box])
    if n >= BOX_FROM:
        whisker = base.mark_rule(color=palette.muted, strokeWidth=1.2, aria=False)
        layers.append(whisker.encode(x=at("low"), x2=alt.X2("high:Q"), y=level("middle")))
        body = base.mark_bar(color=palette.series[0], opacity=0.35 if n < VIOLIN_FROM else 0.55)
        layers.append(
            body.encode(
                x=at("q1"),
                x2=alt.X2("q3:Q"),
                y=level("top"),
                y2=alt.Y2("bottom:Q"),
                description=alt.Description("description:N"),
            )
        )
    line = base.mark_rule(color=palette.ink, strokeWidth=2.2)
    layers.append(
        line.encode(
            x=at("median"),
            y=level("top"),
            y2=alt.Y2("bottom:Q"),
            description=alt.Description("description:N"),
        )
    )
    bracket = [] if samples else _bracket(group, place)
    if bracket:
        chart = chart_of(bracket)
        rule = chart.mark_rule(color=palette.accent, strokeWidth=2)
        layers.append(
            rule.encode(
                x=at("low"),
                x2=alt.X2("high:Q"),
                y=level("y"),
                description=alt.Description("description:N"),
            )
        )
        for end in ("low", "high"):
            tick = chart.mark_tick(
                color=palette.accent, thickness=2, size=8, orient="vertical", aria=False
            )
            layers.append(tick.encode(x=at(end), y=level("y")))
    if n < VIOLIN_FROM:
        rows = [
            row(point) | {"y": place + _aside(number)} for number, point in enumerate(group.points)
        ]
        dots = chart_of(rows).mark_point(filled=True, size=30, color=palette.ink, opacity=0.75)
        layers.append(dots.encode(x=at("value"), y=level("y"), **carried(rows)))
    return layers


def _box(group: SpreadRow, place: int) -> dict[str, Any]:
    import numpy as np

    values = group.values
    q1, middle, q3 = (float(quantile) for quantile in np.quantile(values, (0.25, 0.5, 0.75)))
    metric = group.points[0].metric
    words = (
        f"{group.name}: median {with_unit(metric, middle)}, middle half "
        f"{with_unit(metric, q1)} to {with_unit(metric, q3)}, all {with_unit(metric, values[0])} "
        f"to {with_unit(metric, values[-1])}, n = {len(values)}"
    )
    half = 0.24 if len(values) < VIOLIN_FROM else 0.1
    return {
        "low": values[0], "q1": q1, "median": middle, "q3": q3, "high": values[-1],
        "middle": place, "top": place - half, "bottom": place + half, "description": words,
    }  # fmt: skip


def _density(values: Sequence[float], place: int, *, log: bool) -> list[dict[str, Any]]:
    """The outline of a violin, both sides: Gaussian kernels between the extremes, n^(-1/5) standard
    deviations wide (Scott 1992). Equal to that of `scipy.stats`, which takes long to import.

    On a logarithmic axis it is the density of the logarithms, which matches the axis.
    """
    import numpy as np

    taken = np.log(values) if log else np.asarray(values)
    grid = np.linspace(taken[0], taken[-1], _STEPS)
    width = float(taken.std(ddof=1)) * len(taken) ** -0.2
    height = np.exp(-0.5 * ((grid[:, None] - taken) / width) ** 2).sum(axis=1)
    height = 0.42 * height / height.max()
    places = np.exp(grid) if log else grid
    side = [(float(x), place - float(h)) for x, h in zip(places, height, strict=True)]
    back = [(float(x), place + float(h)) for x, h in zip(places, height, strict=True)][::-1]
    outline = [*side, *back, side[0]]
    return [{"value": x, "y": y, "order": number} for number, (x, y) in enumerate(outline)]


def _aside(number: int) -> float:
    """A small offset from the middle, different for each dot, but reproducible."""
    return ((number * 7) % 11 - 5) * 0.032


def _bracket(group: SpreadRow, place: int) -> list[dict[str, Any]]:
    """The interval of the median, slightly below the box; empty for fewer than six machines."""
    interval = middle(group.points).interval
    if interval is None:
        return []
    low, high = interval
    metric = group.points[0].metric
    words = (
        f"{group.name}: 95 % interval of the median {with_unit(metric, low)} to "
        f"{with_unit(metric, high)}"
    )
    return [{"low": low, "high": high, "y": place + 0.36, "description": words}]


def _subtitle(groups: Sequence[SpreadRow], metric: str, *, samples: bool) -> str:
    counts = sorted(len(group.points) for group in groups)
    machines = sorted(middle(group.points).machines for group in groups)
    with_interval = not samples and any(_bracket(group, 0) for group in groups)
    words = [title(metric)]
    if samples:
        words.append(f"n = {_span(counts)} samples, no interval (n = 1 machine each)")
    elif with_interval:
        words.append(f"n = {_span(machines)} machines, bracket: 95 % interval of the median")
        if machines[0] < LEAST_MACHINES:
            words.append(f"no interval of fewer than {LEAST_MACHINES}")
    else:
        words.append(f"no interval (n = {_span(machines)} machines)")
    shown = ["dot: one value", "line: median"] if counts[0] < VIOLIN_FROM else ["line: median"]
    shown += ["box: middle half"] if counts[-1] >= BOX_FROM else []
    shown += ["outline: density"] if counts[-1] >= VIOLIN_FROM else []
    return "; ".join([*words, ", ".join(shown)])


def _span(counts: Sequence[int]) -> str:
    return f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]}–{counts[-1]}"


def _sentence(groups: Sequence[SpreadRow], metric: str, heading: str) -> str:
    def centre(group: SpreadRow) -> float:
        values = group.values
        return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2

    best, least = max(groups, key=centre), min(groups, key=centre)
    return (
        f"{heading}: {len(groups)} groups, the highest median is that of {best.name} with "
        f"{with_unit(metric, centre(best))}, the lowest that of {least.name} with "
        f"{with_unit(metric, centre(least))}."
    )
