"""The spread of one figure's values by group: by region, by hour of the day, by disk. Every value
is a dot; five or more have a box of the middle half (quartiles by linear interpolation, Hyndman &
Fan 1996, type 7) with the median as its line, and whiskers to the extremes."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import Literal

from diskbench.analysis.repeats import median_interval
from diskbench.parallel import grouped
from diskbench.report.charts import measure
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import along, brackets, described, layer, layered
from diskbench.report.charts.measure import Spec
from diskbench.report.charts.palette import INK, MUTED, SERIES
from diskbench.report.charts.point import ChartPoint, Row, machine_values, row

WIDTH = 320
ROW = 40
_BOX, _BELOW = 19, 14
"""The height of a box, and how far below its middle the interval stands, in pixels."""
BOX_FROM = 5
LEAST_MACHINES = 6
"""Minimum numbers of values. Our choice; the second is the least for a 95 % interval (MR-6)."""
By = Literal["region", "hour", "label"]
Groups = Mapping[str, Sequence[ChartPoint]]
"""The points of each row by its name: one per machine, or samples of one machine, which give no
interval."""


def groups_of(points: Iterable[ChartPoint], by: By) -> dict[str, list[ChartPoint]]:
    """Points by region (with the provider), by hour of the day in UTC, or by label. Hours and
    regions are sorted; points without one are left out (`undated` names those without an hour)."""
    groups = grouped(points, lambda point: _name(point, by))
    groups.pop("", None)
    return groups if by == "label" else dict(sorted(groups.items()))


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


def undated(points: Iterable[ChartPoint]) -> str:
    """The trials without an hour, as text; empty if all have one."""
    keys = dict.fromkeys(point.key for point in points if not point.when)
    return f"left out, because they have no date: {', '.join(keys)}" if keys else ""


def spread_chart(
    groups: Groups, *, name: str, heading: str, samples: bool = False, left_out: str = ""
) -> ChartFigure:
    """Groups of points of one metric, one below the other. `samples`: each group has samples of one
    machine, which give no interval (MR-5). `left_out` says what is not drawn, and why. Raises
    ValueError for points of several metrics, or none."""
    (metric,) = {point.metric for of in groups.values() for point in of}
    values = [point.value for of in groups.values() for point in of]
    log = measure.wants_log(values) and min(values) > 0
    boxes = [_box(of, of_name, samples=samples) for of_name, of in groups.items()]
    least, best = (of(boxes, key=itemgetter("median")) for of in (min, max))
    return ChartFigure(
        title=heading,
        subtitle="; ".join(filter(None, (_subtitle(groups, boxes, samples=samples), left_out))),
        drawing=lambda log: _drawing(groups, boxes, metric, samples=samples, log=log),
        id=name,
        alt=f"{heading}: {len(groups)} groups, the highest median is that of {best['name']} with "
        f"{measure.with_unit(metric, best['median'])}, the lowest that of {least['name']} with "
        f"{measure.with_unit(metric, least['median'])}.",
        log=log or None,
    )


def _box(points: Sequence[ChartPoint], name: str, *, samples: bool) -> Row:
    """The box of a group, and the interval of its median."""
    import numpy as np

    values = [point.value for point in points]
    low, q1, centre, q3, high = map(float, np.quantile(values, (0, 0.25, 0.5, 0.75, 1)))
    box: Row = {
        "name": name, "n": len(values), "row": f"{name} (n = {len(values)})", "low": low,
        "q1": q1, "median": centre, "q3": q3, "high": high,
        "interval": not samples and median_interval(machine_values(points)) is not None,
    }  # fmt: skip
    text = [measure.with_unit(points[0].metric, value) for value in (centre, q1, q3, low, high)]
    words = "median {}, middle half {} to {}, all {} to {}".format(*text)
    return box | {"description": f"{name}: {words}, n = {len(values)}"}


def _subtitle(groups: Groups, boxes: Sequence[Row], *, samples: bool) -> str:
    counts = [len(of) for of in groups.values()]
    machines = [len(machine_values(of)) for of in groups.values()]
    words = [measure.title(next(iter(groups.values()))[0].metric)]
    if samples:
        words.append(f"n = {measure.span(counts)} samples, no interval (n = 1 machine each)")
    elif any(box["interval"] for box in boxes):
        words.append(f"n = {measure.span(machines)} machines, bracket: 95 % interval of the median")
        if min(machines) < LEAST_MACHINES:
            words.append(f"no interval of fewer than {LEAST_MACHINES}")
    else:
        words.append(f"no interval (n = {measure.span(machines)} machines)")
    box = ", box: middle half" if max(counts) >= BOX_FROM else ""
    return "; ".join([*words, f"dot: one value, line: median{box}"])


def _drawing(
    groups: Groups, boxes: Sequence[Row], metric: str, *, samples: bool, log: bool
) -> Spec:
    values = [point.value for of in groups.values() for point in of]
    low, high = min(values), max(values)
    if log:
        domain = measure.log_domain(values)
    else:
        # From zero, unless that would push all to one side: then the axis shows its bounds.
        edge = (high - low) * 0.06 or high * 0.05 or 1.0
        domain = [0.0 if low <= high / 2 else low - edge, high + edge]
    names = [box["row"] for box in boxes]
    lanes = dict(zip(names, groups.values(), strict=True))
    labels = measure.bare_labels(names) | {"grid": False}
    y = measure.named("row", scale={"domain": names}, axis=labels)
    at = along(y, metric, domain, log=log)
    boxed = [box for box in boxes if box["n"] >= BOX_FROM]
    single = [
        # Slightly aside from the middle, different for each dot but the first.
        row(point) | {"row": name, "aside": (number * 7 + 5) % 11 - 5}
        for name, of in lanes.items()
        for number, point in enumerate(of)
    ]
    aside = {"yOffset": measure.amount("aside", scale={"domain": [-16, 16]})}
    layers = [
        layer("rule", boxed, at("low", "high"), color=MUTED, strokeWidth=1.2),
        described("bar", boxed, at("q1", "q3"), height=_BOX, color=SERIES[0], opacity=0.35),
        described("tick", boxes, at("median"), color=INK, opacity=1, thickness=2.2, size=_BOX,
              orient="vertical"),
        *(() if samples else brackets(lanes, at, below=_BELOW)),
        described("point", single, at("value") | aside, filled=True, size=30,
              color=INK, opacity=0.75),
    ]  # fmt: skip
    return layered(layers, WIDTH, measure.row_height(names, ROW) * len(names))
