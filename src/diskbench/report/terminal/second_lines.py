"""Steps second by second as sparklines, one line each, with their range."""

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
    """A line per step and direction: name, IOPS as a sparkline, lowest and highest second.

    Steps of fewer than three seconds are left out. No line is longer than `width`, if that leaves
    at least eight columns for the sparkline.
    """
    rows = [
        (step.step, direction, [iops for _, iops in points])
        for step in steps
        for direction, points in step.directions.items()
        if len(points) >= SHORTEST_S
    ]
    if not rows:
        return []
    spans = [f"{format_iops(min(iops))} to {format_iops(max(iops))}" for _, _, iops in rows]
    names = [_shortened(name) for name, _, _ in rows]
    wide = max(map(len, names))
    label = max(len(direction) for _, direction, _ in rows)
    room = max(_NARROWEST, min(40, width - wide - label - max(map(len, spans)) - 4))
    return [
        f"{name:<{wide}} {direction:<{label}} {sparkline(iops, width=room):<{room}}  {span}"
        for name, (_, direction, iops), span in zip(names, rows, spans, strict=True)
    ]


def _shortened(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
