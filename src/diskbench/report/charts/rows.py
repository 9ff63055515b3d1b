"""Points as rows of a chart: their order, and the data of each mark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from diskbench.report.charts.point import OTHER, ChartPoint, provider_label, provider_labels

if TYPE_CHECKING:
    import altair as alt

    from diskbench.report.charts.palette import Palette

Row = dict[str, Any]
DWARFS = 3.0
"""Values are cut on a linear axis if the lowest of them exceeds the largest of the rest by this
factor, and if they are at most a third of six or more values. Our choice."""
_LEAST = 6


def drawn_rows(rows: Iterable[Row]) -> dict[str, tuple[Row, ...]]:
    """Rows as altair's data. altair copies a list with all its rows for each layer and each chart
    around it, and hands on a tuple: such copies were a third of the time of a chart of 100 runs."""
    return {"values": tuple(rows)}


def row(point: ChartPoint) -> Row:
    """The fields of a point's mark, with unscaled values."""
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
    """The distinct labels: by value, the largest first, or in order of appearance."""
    best: dict[str, float] = {}
    for point in points:
        best.setdefault(point.label, point.value)
    return sorted(best, key=lambda name: -best[name]) if ranked else list(best)


def rest_and_outliers(values: Sequence[float]) -> tuple[float, int]:
    """The largest value that does not dwarf the others, and the number of values that do."""
    ordered = sorted(values)
    most = len(ordered) // 3 if len(ordered) >= _LEAST else 0
    for count in range(most, 0, -1):
        usual, beyond = ordered[: len(ordered) - count], ordered[len(ordered) - count :]
        if len(usual) >= 2 and usual[-1] > 0 and beyond[0] >= DWARFS * usual[-1]:
            return usual[-1], count
    return (ordered[-1] if ordered else 1.0), 0


def provider_colour(points: Sequence[ChartPoint], palette: Palette, *, legend: bool) -> alt.Color:
    """A fixed colour for each provider; labels name the provider as well. If no disk is of a
    cloud, all have the first colour: there is nothing to distinguish."""
    import altair as alt

    domain = [*provider_labels(), OTHER]
    present = {provider_label(point.provider) or OTHER for point in points}
    if present == {OTHER}:
        return alt.Color(value=palette.series[0])
    shown = [name for name in domain if name in present]
    shown_legend = (
        alt.Legend(orient="top", title=None, values=shown, symbolType="square", columnPadding=16)
        if legend and len(shown) > 1
        else None
    )
    scale = alt.Scale(domain=domain, range=list(palette.series))
    return alt.Color("provider:N", scale=scale, legend=shown_legend)


def carried(rows: Sequence[Row]) -> dict[str, Any]:
    """The encodings of the marks' text, and of their link if any has one."""
    import altair as alt

    encodings: dict[str, Any] = {"description": alt.Description("description:N")}
    if any("href" in row for row in rows):
        encodings["href"] = alt.Href("href:N")
    return encodings
