"""Histories for a terminal: when a level changed, and the smallest detectable change."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from diskbench.report.assemble.dates import local_time
from diskbench.report.terminal.compare_text import difference_text, figure_text, wrapped
from diskbench.report.terminal.sparkline import sparkline

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from diskbench.model.history import History

_SPARK = 40


def regression_lines(
    histories: Iterable[History], undated: Collection[str] = (), *, width: int = 80
) -> Iterator[str]:
    """Histories with changes, the largest change first; then those without. Of each only its lines
    are kept. `undated` are trials that have no place in one, known when all histories are."""
    changed: list[tuple[float, list[str]]] = []
    steady: list[str] = []
    for history in histories:
        if history.changes:
            largest = max(abs(change.change) for change in history.changes)
            changed.append((-largest, [*_history(history, width), ""]))
        else:
            steady += wrapped("", f"{_name(history)}: {_nothing(history)}", width)
    for _, lines in sorted(changed, key=itemgetter(0)):
        yield from lines
    yield from steady
    if undated:
        text = f"{', '.join(undated)}: the time of measurement is not known"
        yield from wrapped("", f"left out, because they have no date: {text}", width)


def _history(history: History, width: int) -> Iterator[str]:
    show = figure_text(history.metric)
    yield from wrapped("", f"{_name(history)}: {len(history.points)} times", width)
    yield f"  {sparkline([point.value for point in history.points][-_SPARK:])}"
    for change in history.changes:
        yield from wrapped(
            "  ",
            f"{local_time(change.at)}  {'worse' if change.regression else 'better'}: "
            f"{show(change.median_before)} → {show(change.median_after)} "
            f"({'−' if change.change < 0 else '+'}{abs(change.change) * 100:.1f} %), "
            f"seen {change.since} times; the last before it was {local_time(change.before)}",
            width,
        )
        if change.differences:
            text = "; ".join(difference_text(difference) for difference in change.differences)
            yield from wrapped("    what changed with it: ", text, width)
    yield from wrapped("  ", _limits(history), width)


def _name(history: History) -> str:
    return f"{history.block}, {history.step} {history.direction}"


def _nothing(history: History) -> str:
    count = len(history.points)
    if history.visible is None:
        return f"{count} times are too few to find a change: at least six are needed"
    return f"no change found in {count} times; {_limits(history)}"


def _limits(history: History) -> str:
    step = (
        ""
        if history.visible is None
        else f"a step of {history.visible * 100:.0f} % would be found, "
    )
    parts = [
        f"{step}noise {history.noise * 100:.1f} %, (max − min) / median {history.span * 100:.0f} %"
    ]
    if history.after_cliff:
        parts.append(f"of {history.after_cliff} trials the level after a cliff counts")
    if out := sum(point.left_out for point in history.points):
        parts.append(
            f"{out} trials did not count: another machine or level than the others of their time "
            "(--pool counts them)"
        )
    return "; ".join(parts)
