"""Histories for a terminal: since when a level is another one, and what could not be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.report.assemble.dates import local_time
from diskbench.report.terminal.compare_text import difference_text, figure_text, wrapped
from diskbench.report.terminal.sparkline import sparkline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.model.history import History, Regressions

_SPARK = 40


def regression_lines(found: Regressions, *, width: int = 80) -> Iterator[str]:
    """Histories with changes first, the worst first; then how many have none."""
    changed = [one for one in found.histories if one.changes]
    changed.sort(key=lambda one: -max(abs(change.change) for change in one.changes))
    for one in changed:
        yield from _history(one, width)
        yield ""
    for one in found.histories:
        if not one.changes:
            yield from wrapped("", f"{_name(one)}: {_nothing(one)}", width)
    if found.undated:
        told = f"{', '.join(found.undated)}: nobody knows when they were measured"
        yield from wrapped("", f"left out, having no date: {told}", width)


def _history(one: History, width: int) -> Iterator[str]:
    show = figure_text(one.metric)
    yield from wrapped("", f"{_name(one)}: {len(one.points)} times", width)
    yield f"  {sparkline([point.value for point in one.points][-_SPARK:])}"
    for change in one.changes:
        yield from wrapped(
            "  ",
            f"{local_time(change.at)}  {'worse' if change.regression else 'better'}: "
            f"{show(change.median_before)} → {show(change.median_after)} "
            f"({'−' if change.change < 0 else '+'}{abs(change.change) * 100:.1f} %), "
            f"seen {change.since} times; the last before it was {local_time(change.before)}",
            width,
        )
        if change.differences:
            told = "; ".join(difference_text(each) for each in change.differences)
            yield from wrapped("    what changed with it: ", told, width)
    yield from wrapped("  ", _limits(one), width)


def _name(one: History) -> str:
    return f"{one.block}, {one.step} {one.direction}"


def _nothing(one: History) -> str:
    count = len(one.points)
    if one.visible is None:
        return f"{count} times are too few to find a change: at least six are needed"
    return f"no change found in {count} times; {_limits(one)}"


def _limits(one: History) -> str:
    step = "" if one.visible is None else f"a step of {one.visible * 100:.0f} % would be seen, "
    told = [f"{step}noise {one.noise * 100:.1f} %, (max − min) / median {one.span * 100:.0f} %"]
    if one.after_cliff:
        told.append(f"of {one.after_cliff} trials the level after a cliff counts")
    if out := sum(point.left_out for point in one.points):
        told.append(
            f"{out} trials did not count: another machine or level than the others of their time "
            "(--pool counts them)"
        )
    return "; ".join(told)
