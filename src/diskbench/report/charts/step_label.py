"""The step labels in the charts of one trial, one per step and direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from diskbench.report.charts.axis import label_axis

if TYPE_CHECKING:
    import altair as alt

    from diskbench.report.assemble.lines import StepLine

WIDTH = 260
ROW_HEIGHT = 26
ONE_MACHINE = "no interval (n = 1 machine)"
"""Runs of one trial are a series on one disk, so there is no interval (MR-5)."""


def label(line: StepLine, lines: Sequence[StepLine]) -> str:
    """The step's name, with the direction if the name alone is ambiguous."""
    alone = sum(other.step == line.step for other in lines) == 1
    return line.step if alone and line.direction in line.step else f"{line.step} {line.direction}"


def height(lines: Sequence[StepLine]) -> int:
    """The height in pixels of a chart with one row per line."""
    return ROW_HEIGHT * max(len(lines), 1)


def step_axis(lines: Sequence[StepLine]) -> alt.Y:
    """The vertical axis of the steps, in order."""
    return label_axis([label(line, lines) for line in lines])
