"""Steps second by second, a line each: blocks from zero to the highest, and what they span."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from diskbench.report.terminal.sparkline import sparkline
from diskbench.report.terminal.text_plot import SHORTEST_S
from diskbench.units import format_iops

if TYPE_CHECKING:
    from diskbench.report.assemble.seconds import StepSeconds

_NAME = 24
_NARROWEST = 8


def second_lines(steps: Sequence[StepSeconds], *, width: int = 80) -> list[str]:
    """A line a step and direction: its name, its IOPS second by second, lowest to highest second.

    Steps of less than three seconds are left out. No line is longer than `width`, as long as that
    leaves eight columns for the blocks.
    """
    rows = [
        (step.step, direction, [iops for _, iops in points])
        for step in steps
        for direction, points in step.directions.items()
        if len(points) >= SHORTEST_S
    ]
    if not rows:
        return []
    told = [f"{format_iops(min(iops))} to {format_iops(max(iops))}" for _, _, iops in rows]
    names = [_shortened(name) for name, _, _ in rows]
    wide = max(map(len, names))
    label = max(len(direction) for _, direction, _ in rows)
    room = max(_NARROWEST, min(40, width - wide - label - max(map(len, told)) - 4))
    return [
        f"{name:<{wide}} {direction:<{label}} {sparkline(iops, width=room):<{room}}  {span}"
        for name, (_, direction, iops), span in zip(names, rows, told, strict=True)
    ]


def _shortened(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
