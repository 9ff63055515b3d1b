"""Metrics, and the format of their axes and numbers. Values stay in the unit of the rows (IOPS,
bytes per second, nanoseconds, dollars); only labels are in MB/s, µs and ms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from diskbench.report.charts.axis import LATENCY_LABELS
from diskbench.units import format_iops, format_latency_ns, format_mb_per_s, format_usd

if TYPE_CHECKING:
    import altair as alt

Quantity = Literal["iops", "bytes_per_s", "ns", "usd", "ratio"]

TITLES: dict[Quantity, str] = {
    "iops": "IOPS",
    "bytes_per_s": "MB/s",
    "ns": "time of one operation",
    "usd": "US dollars a month",
    "ratio": "measured / promised",
}
_LABELS: dict[Quantity, str] = {
    "iops": "datum.value < 1e3 ? format(datum.value, '~r') : format(datum.value, '~s')",
    "bytes_per_s": "format(datum.value / 1e6, ',~r')",
    "ns": LATENCY_LABELS,
    "usd": "'$' + format(datum.value, ',~r')",
    "ratio": "format(datum.value, '~r') + '×'",
}


def quantity(metric: str) -> Quantity:
    """The quantity of a metric: columns of latencies end in `_ns`."""
    if metric.endswith("_ns"):
        return "ns"
    assert metric in ("iops", "bytes_per_s", "usd", "ratio"), metric
    return metric  # type: ignore[return-value]


def title(metric: str, *, log: bool = False) -> str:
    """The unit, for an axis: `IOPS`, `MB/s, logarithmic`."""
    return TITLES[quantity(metric)] + (", logarithmic" if log else "")


def bare(metric: str, value: float) -> str:
    """A value for a mark on an axis with a unit: `3,634`, `92.0`, `18.1 ms`."""
    match quantity(metric):
        case "iops":
            return format_iops(value)
        case "bytes_per_s":
            return format_mb_per_s(value)
        case "ns":
            return format_latency_ns(value)
        case "usd":
            return format_usd(value)
        case "ratio":
            return f"{value:.2f}×"


def with_unit(metric: str, value: float) -> str:
    """A value with its unit: `3,634 IOPS`, `92.0 MB/s`."""
    units = {"iops": " IOPS", "bytes_per_s": " MB/s"}
    return bare(metric, value) + units.get(metric, "")


def axis(metric: str, *, log: bool = False, ticks: int = 4, **more: Any) -> alt.Axis:  # noqa: ANN401 - altair's options
    """An axis with its unit as title; on a logarithmic one only powers of ten are labelled."""
    import altair as alt

    options: dict[str, Any] = {
        "title": title(metric, log=log),
        "labelExpr": _LABELS[quantity(metric)],
        "domain": False,
        "ticks": False,
        "labelOverlap": "greedy",
        "labelFlush": True,
        "labelSeparation": 6,
    }
    if "values" not in more:  # vega would drop some of the given values
        options["tickCount"] = ticks
    return alt.Axis(**options | more)


def log_domain(values: Sequence[float], texts: Iterable[tuple[float, float]] = ()) -> list[float]:
    """Bounds of a logarithmic axis: slightly below the lowest and above the largest positive value,
    and wide enough for each text (its start, and its share of the width)."""
    positive = [value for value in values if value > 0] or [1.0, 10.0]
    low, high = min(positive) / 1.6, max(positive) * 1.6
    for at, share in texts:
        if at > 0:
            high = max(high, low * (at / low) ** (1 / (1 - min(share, 0.7))))
    return [low, high]


def linear_domain(top: float, texts: Iterable[tuple[float, float]] = ()) -> list[float]:
    """Bounds of an axis from zero, wide enough for each text."""
    high = max((at / (1 - min(share, 0.7)) for at, share in texts), default=0.0)
    return [0.0, max(high, top) or 1.0]


def powers_within(domain: Sequence[float]) -> list[float]:
    """Powers of ten inside a domain; if fewer than two, also 2 and 5 times them."""
    low, high = domain
    tens = [10.0**power for power in range(-3, 19) if low <= 10.0**power <= high]
    if len(tens) >= 2:
        return tens
    fine = [k * 10.0**power for power in range(-3, 19) for k in (1, 2, 5)]
    return [value for value in fine if low <= value <= high] or [low, high]
