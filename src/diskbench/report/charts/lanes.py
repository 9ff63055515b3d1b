"""The rows of a chart of disks: one per label, and below it one for own runs of that disk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.report.charts.axis import bare_labels
from diskbench.report.charts.point import ChartPoint, of_source
from diskbench.report.charts.rows import labels_in_order

if TYPE_CHECKING:
    import altair as alt

_OWN = "\u200b"
"""A zero-width space at the end of a name marks the row of own runs."""
YOURS = "yours"


@dataclass(frozen=True)
class Lanes:
    """Rows from top to bottom. `beside`: some hold published figures, others own runs."""

    names: tuple[str, ...]
    beside: bool

    def of(self, point: ChartPoint) -> str:
        """The row of a point."""
        return _name(point, beside=self.beside)

    def axis(self, *, labelled: bool = True) -> alt.Y:
        """The vertical axis: labels, and `yours` for a row of own runs. Not `labelled`: the same
        rows without labels, because a panel further left has them."""
        import altair as alt

        scale = alt.Scale(domain=list(self.names))
        if not labelled:
            return alt.Y("row:N", scale=scale, axis=None)
        shown = [YOURS if name.endswith(_OWN) else name for name in self.names]
        labels = bare_labels(shown)
        labels["labelExpr"] = f"indexof(datum.value, '{_OWN}') < 0 ? datum.value : '{YOURS}'"
        return alt.Y("row:N", scale=scale, axis=labels)


def lanes_of(points: Iterable[ChartPoint], *, ranked: bool) -> Lanes:
    """The rows for these points, in the order of the published points, then of the own points."""
    points_of = list(points)
    published, own = of_source(points_of, "published"), of_source(points_of, "measured")
    beside = bool(published and own)
    names: list[str] = []
    for label in labels_in_order([*published, *own], ranked=ranked):
        of_label = [point for point in (*published, *own) if point.label == label]
        names += dict.fromkeys(_name(point, beside=beside) for point in of_label)
    return Lanes(tuple(names), beside)


def _name(point: ChartPoint, *, beside: bool) -> str:
    name = point.label.replace(_OWN, "")
    return name + _OWN if beside and point.source == "measured" else name


def is_own(name: str) -> bool:
    """Whether a row holds own runs below a published figure."""
    return name.endswith(_OWN)


def in_lanes(points: Sequence[ChartPoint], lanes: Lanes) -> dict[str, list[ChartPoint]]:
    """Row → its points, in the order of the rows."""
    by_lane: dict[str, list[ChartPoint]] = {name: [] for name in lanes.names}
    for point in points:
        by_lane[lanes.of(point)].append(point)
    return by_lane
