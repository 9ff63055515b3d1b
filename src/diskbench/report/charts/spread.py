"""The spread of one figure's values by group: by region, by hour of the day, by disk.

    20 values or more   the density of the values or their logarithms as a violin, with a box in it
    5 to 19             a box, and every value as a dot
    fewer               every value as a dot, and the median: four values are too few for a box

A box holds the middle half (quartiles by linear interpolation, Hyndman & Fan 1996, type 7), its
line is the median, and its whiskers reach the extremes, so that nothing is left out of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import interval_rule, layer, layered
from diskbench.report.charts.measure import (
    Channel,
    Spec,
    amount,
    bare_labels,
    log_domain,
    named,
    title,
    value_axis,
    wants_log,
    with_unit,
)
from diskbench.report.charts.palette import Palette
from diskbench.report.charts.point import ChartPoint, Row, carried, middle, row

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
        drawing=lambda log: _drawing(groups, metric, palette, log=log, samples=samples),
        id=name,
        alt=_sentence(groups, metric, heading),
        both=log,
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
) -> Spec:
    values = [value for group in groups for value in group.values]
    low, high = min(values), max(values)
    if log:
        domain = log_domain(values)
    else:
        # From zero, unless that would push all to one side: then the axis shows its bounds.
        edge = (high - low) * 0.06 or high * 0.05 or 1.0
        domain = [0.0 if low <= high / 2 else low - edge, high + edge]
    names = [f"{group.name} (n = {len(group.points)})" for group in groups]
    labels = bare_labels(names) | {
        "values": list(range(len(groups))),
        "labelExpr": f"{json.dumps(names)}[datum.value]",
        "grid": False,
    }
    rows = {"domain": [len(groups) - 0.45, -0.55], "nice": False, "zero": False}

    def at(field: str, y: str, end: str = "", *, told: bool = False) -> dict[str, Channel]:
        """From `field` to `end`, or on the line of `field` from `top` to `bottom`."""
        place = {"x": value_axis(field, metric, domain, log=log)}
        place["y"] = amount(y, scale=rows, axis=labels)
        if end:
            place["x2"] = {"field": end}
        if y == "top":
            place["y2"] = {"field": "bottom"}
        return place | ({"description": named("description")} if told else {})

    boxes = [_box(group, place) for place, group in enumerate(groups)]
    many = [box for box in boxes if box["n"] >= VIOLIN_FROM]
    boxed = [box for box in boxes if box["n"] >= BOX_FROM]
    outlines = [
        row
        for box, group in zip(boxes, groups, strict=True)
        if box in many and box["low"] < box["high"]
        for row in _density(group.values, box["middle"], log=log)
    ]
    brackets = [
        each for place, group in enumerate(groups) if not samples for each in _bracket(group, place)
    ]
    ends = [{"end": each[end], "y": each["y"]} for each in brackets for end in ("low", "high")]
    single = [
        row(point) | {"y": box["middle"] + _aside(number)}
        for box, group in zip(boxes, groups, strict=True)
        if box not in many
        for number, point in enumerate(group.points)
    ]
    order = {"detail": named("of"), "order": amount("order")}
    layers = [
        layer("line", outlines, at("value", "y") | order, color=palette.series[0], strokeWidth=1,
              fill=palette.series[0], fillOpacity=0.18),
        layer("rule", boxed, at("low", "middle", "high"), color=palette.muted, strokeWidth=1.2),
        layer("bar", [box for box in boxed if box not in many], at("q1", "top", "q3", told=True),
              color=palette.series[0], opacity=0.35),
        layer("bar", many, at("q1", "top", "q3", told=True), color=palette.series[0], opacity=0.55),
        layer("rule", boxes, at("median", "top", told=True), color=palette.ink, strokeWidth=2.2),
        interval_rule(brackets, palette, at("low", "y", "high", told=True)),
        layer("tick", ends, at("end", "y"), color=palette.accent, thickness=2, size=8,
              orient="vertical"),
        layer("point", single, at("value", "y") | carried(single), filled=True, size=30,
              color=palette.ink, opacity=0.75),
    ]  # fmt: skip
    return layered(layers, WIDTH, ROW * len(groups))


def _box(group: SpreadRow, place: int) -> Row:
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
        "n": len(values), "low": values[0], "q1": q1, "median": middle, "q3": q3,
        "high": values[-1], "middle": place, "top": place - half, "bottom": place + half,
        "description": words,
    }  # fmt: skip


def _density(values: Sequence[float], place: int, *, log: bool) -> list[Row]:
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
    return [
        {"of": place, "value": x, "y": y, "order": number} for number, (x, y) in enumerate(outline)
    ]


def _aside(number: int) -> float:
    """A small offset from the middle, different for each dot, but reproducible."""
    return ((number * 7) % 11 - 5) * 0.032


def _bracket(group: SpreadRow, place: int) -> list[Row]:
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
