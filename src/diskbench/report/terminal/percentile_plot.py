"""Latency percentiles of a step as a text plot: it shows the tail that a mean hides.

The horizontal axis is stretched towards the slow end: a share p of all I/Os is drawn at
log10(1 / (1 - p)), so that 90 %, 99 % and 99.9 % are equally far apart. It ends at the share of
a single I/O. The vertical axis is logarithmic.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from diskbench.report.terminal.text_plot import Screen, draw

_UNITS = ((1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1.0, " ns"))
_FEWEST = 10
"""Fewer I/Os have no tail to draw."""


def plot_percentiles(step: str, rows: Iterable[Mapping[str, Any]], screen: Screen) -> str:
    """A curve per direction, from the rows of `diskbench.load_histogram` for one step.

    Total latency if fio recorded it, else completion latency. Empty if no direction has ten I/Os.
    """
    known = tuple(rows)
    kind = "lat" if any(row["kind"] == "lat" for row in known) else "clat"
    buckets: dict[str, list[tuple[float, int]]] = {}
    for row in known:
        if row["kind"] == kind and row["direction"] != "sync" and row["count"]:
            bucket = (float(row["latency_ns"]), int(row["count"]))
            buckets.setdefault(str(row["direction"]), []).append(bucket)
    curves = {name: _curve(sorted(of_direction)) for name, of_direction in buckets.items()}
    curves = {name: points for name, points in curves.items() if points}
    if not curves:
        return ""
    highest = max(y for points in curves.values() for _, y in points)
    divisor, unit = next(unit for unit in _UNITS if highest >= unit[0])
    ends = max(x for points in curves.values() for x, _ in points)
    words = "latency" if kind == "lat" else "completion latency"
    drawn = draw(
        {name: [(x, y / divisor) for x, y in points] for name, points in curves.items()},
        screen,
        title=f"{step}: {words}{unit.replace('µ', 'µ' if screen.unicode else 'u')} "
        "by share of I/Os",
        y_as_log=True,
        x_labels=False,
        x_min=0.0,
        x_max=ends,
        x_gridlines=list(range(1, math.ceil(ends))),
    )
    return _labelled(drawn, ends, screen.plot_width)


def _curve(buckets: Sequence[tuple[float, int]]) -> list[tuple[float, float]]:
    """Corners (log10(1 / (1 - p)), ns) of a step curve: a bucket is as wide as its share of I/Os.
    The slowest I/O of n is drawn at the share 1 - 1/n."""
    total = sum(count for _, count in buckets)
    if total < _FEWEST:
        return []
    corners: list[tuple[float, float]] = []
    below = 0
    for ns, count in buckets:
        ends = (total - below, total - below - count)
        corners += [(math.log10(total / max(slower, 1)), ns) for slower in ends]
        below += count
    return corners


def _labelled(drawn: str, ends: float, width: int) -> str:
    """The plot with `0 %`, `90 %`, `99 %` … below its frame, each at its share."""
    axis = [" "] * (width + 2)
    for nines in range(math.floor(ends) + 1):
        text = _percent(nines)
        at = 1 + round(nines / ends * (width - 1))
        start = min(max(0, at - (len(text) // 2 if nines else 1)), len(axis) - len(text))
        if all(letter == " " for letter in axis[max(0, start - 1) : start + len(text) + 1]):
            axis[start : start + len(text)] = text
    lines = drawn.splitlines()
    frame = max(i for i, line in enumerate(lines) if line[:1] in "└+")
    lines.insert(frame + 1, "".join(axis).rstrip())
    return "\n".join(lines)


def _percent(nines: int) -> str:
    """`0 %`, `90 %`, `99 %`, `99.9 %`."""
    if nines < 2:
        return f"{90 * nines} %"
    return f"99.{'9' * (nines - 2)} %" if nines > 2 else "99 %"
