"""A step second by second as a plot of characters, for terminals.

uniplot draws (quarter blocks, or ASCII if the terminal's encoding has no blocks); this module
selects the points, marks the cliffs and describes both. The first import of uniplot takes 0.15 s,
so it happens when a plot is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diskbench.report.assemble.phase_lines import clock
from diskbench.units import format_iops
from diskbench.visible import one_line

if TYPE_CHECKING:
    from diskbench.model.phase import Cliff
    from diskbench.report.assemble.seconds import StepSeconds

HEIGHT = 10
SHORTEST_S = 3
"""Fewer seconds are not worth a plot."""
_NARROWEST = 24
_LABELS = 13
"""Columns of the frame and the labels of the vertical axis, up to `10,000,000`."""
_FRAME = str.maketrans("┌┐└┘─│├┤┬┴┼", "++++-|+++++")
COLOURS = ("cyan", "yellow", "magenta", "green", "blue")


@dataclass(frozen=True)
class Screen:
    """The terminal to draw for: its columns, and whether it has colours and Unicode."""

    width: int = 80
    colour: bool = False
    unicode: bool = True

    @property
    def plot_width(self) -> int:
        """Columns inside the frame of a plot."""
        return max(_NARROWEST, self.width - _LABELS)


def plot_seconds(
    step: StepSeconds,
    screen: Screen,
    *,
    cliffs: Sequence[Cliff] = (),
    foreseen_s: float | None = None,
) -> str:
    """IOPS over the seconds of a step, from zero. Its cliffs are vertical lines, described below
    the plot together with the time at which the plan expected the credit to run out.

    Empty for fewer than three seconds. If there are more seconds than columns, peaks and dips stay
    visible: uniplot joins all points by lines.
    """
    if step.n < SHORTEST_S:
        return ""
    names = tuple(step.directions)
    title = f"{step.step}: IOPS over {step.n:,} s"
    # uniplot cannot label an axis whose range is almost zero.
    highest = max(value for course in step.directions.values() for _, value in course)
    bounds: dict[str, Any] = {"y_min": 0.0} if highest >= 1.0 else {"y_min": 0.0, "y_max": 1.0}
    drawn = draw(
        {name: step.directions[name] for name in names},
        screen,
        title=title,
        x_gridlines=[cliff.at_s for cliff in cliffs],
        x_unit=" s",
        **bounds,
    )
    lines = [drawn, *(_cliff_words(cliff, screen) for cliff in cliffs)]
    if foreseen_s is not None and foreseen_s < step.n:
        lines.append(f"  the plan foresaw that credit runs out at {clock(foreseen_s)}")
    return "\n".join(lines)


def draw(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    screen: Screen,
    *,
    title: str,
    height: int = HEIGHT,
    **options: Any,  # noqa: ANN401 - options of uniplot, passed on
) -> str:
    """Curves of points (x, y) in one frame, with a legend if there are several."""
    from uniplot import plot_to_string

    several = len(curves) > 1
    drawn = plot_to_string(
        ys=[[y for _, y in points] for points in curves.values()],
        xs=[[x for x, _ in points] for points in curves.values()],
        lines=True,
        width=screen.plot_width,
        height=height,
        title=one_line(title),
        color=list(COLOURS[: len(curves)]) if screen.colour else False,
        character_set="block" if screen.unicode else "ascii",
        legend_labels=[one_line(name) for name in curves] if several else None,
        y_gridlines=[],
        **options,
    )
    text = "\n".join(line.rstrip() for line in str(drawn).splitlines())
    return text if screen.unicode else text.translate(_FRAME)


def _cliff_words(cliff: Cliff, screen: Screen) -> str:
    bar, arrow = ("│", "→") if screen.unicode else ("|", "->")
    levels = f"{format_iops(cliff.before)} {arrow} {format_iops(cliff.after)}"
    return f"{bar} cliff at {clock(cliff.at_s)}: {levels}"
