"""Points as rows of a chart: their order, and what each mark carries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from diskbench.report.charts.point import OTHER, ChartPoint, provider_label, provider_labels

if TYPE_CHECKING:
    import altair as alt

    from diskbench.report.charts.palette import Palette

Row = dict[str, Any]
DWARFS = 3.0
"""Values are broken out of a linear axis when the least of them is so many times the largest of the
rest, and they are a third of six values or more, or fewer. Our choice."""
_LEAST = 6


def row(point: ChartPoint) -> Row:
    """What a mark of a point needs, values as they are."""
    fields: Row = {
        "label": point.label,
        "key": point.key or point.label,
        "value": point.value,
        "low": point.low,
        "high": point.high,
        "source": point.source,
        "provider": provider_label(point.provider) or OTHER,
        "doubted": bool(point.doubt),
        "description": point.description,
    }
    return fields | ({"href": point.href} if point.href else {})


def labels_in_order(points: Iterable[ChartPoint], *, ranked: bool) -> list[str]:
    """The labels, each once: by value, the largest first, or as they come."""
    best: dict[str, float] = {}
    for point in points:
        best.setdefault(point.label, point.value)
    return sorted(best, key=lambda name: -best[name]) if ranked else list(best)


def rest_and_outliers(values: Sequence[float]) -> tuple[float, int]:
    """The largest value that does not dwarf the others, and how many do (0: none)."""
    ordered = sorted(values)
    most = len(ordered) // 3 if len(ordered) >= _LEAST else 0
    for count in range(most, 0, -1):
        rest, beyond = ordered[: len(ordered) - count], ordered[len(ordered) - count :]
        if len(rest) >= 2 and rest[-1] > 0 and beyond[0] >= DWARFS * rest[-1]:
            return rest[-1], count
    return (ordered[-1] if ordered else 1.0), 0


def provider_colour(points: Sequence[ChartPoint], palette: Palette, *, legend: bool) -> alt.Color:
    """A colour for each provider, always the same one; labels say the provider, too."""
    import altair as alt

    domain = [*provider_labels(), OTHER]
    present = {provider_label(point.provider) or OTHER for point in points}
    shown = [name for name in domain if name in present]
    shown_legend = (
        alt.Legend(orient="top", title=None, values=shown, symbolType="square", columnPadding=16)
        if legend and len(shown) > 1
        else None
    )
    scale = alt.Scale(domain=domain, range=list(palette.series))
    return alt.Color("provider:N", scale=scale, legend=shown_legend)


def carried(rows: Sequence[Row]) -> dict[str, Any]:
    """The encodings by which marks carry their words, and their link where any has one."""
    import altair as alt

    encodings: dict[str, Any] = {"description": alt.Description("description:N")}
    if any("href" in row for row in rows):
        encodings["href"] = alt.Href("href:N")
    return encodings
