"""Places labels beside dots without overlaps: a label is tried right, left, above, below and at the
corners of its dot, and the first free place is used. A label without a free place is omitted: the
hover text of its mark names the dot. Greedy, starting with the most crowded dot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from diskbench.report.charts.axis import CHARACTER_PX

HEIGHT_PX = 13.0
_AWAY = 8.0
_DOT = 6.0
Align = Literal["left", "right", "center"]


@dataclass(frozen=True)
class Dot:
    """A dot in pixels from the top left, and its label; without text it only occupies space."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Placed:
    """The place of a label: its anchor in pixels, and the alignment to it."""

    x: float
    y: float
    align: Align


_Box = tuple[float, float, float, float]


def place(dots: Sequence[Dot], *, width: float, height: float) -> tuple[Placed | None, ...]:
    """A place for each dot's label, or None if there is no room. Labels may extend beyond the right
    edge of the plot by a quarter of its width, but nowhere else."""
    taken: list[_Box] = [(d.x - _DOT, d.y - _DOT, d.x + _DOT, d.y + _DOT) for d in dots]
    places: list[Placed | None] = [None] * len(dots)
    edge = (0.0, 0.0, width * 1.25, height)
    crowded = sorted(
        range(len(dots)), key=lambda i: (-_neighbours(dots[i], dots), dots[i].y, dots[i].x)
    )
    for index in crowded:
        dot = dots[index]
        if not dot.text:
            continue
        for candidate in _candidates(dot):
            box = _box(candidate, dot.text)
            if _inside(box, edge) and not any(_overlap(box, placed) for placed in taken):
                places[index] = candidate
                taken.append(box)
                break
    return tuple(places)


def _candidates(dot: Dot) -> tuple[Placed, ...]:
    up, down = dot.y - _AWAY - HEIGHT_PX / 2, dot.y + _AWAY + HEIGHT_PX / 2
    return (
        Placed(dot.x + _AWAY, dot.y, "left"),
        Placed(dot.x - _AWAY, dot.y, "right"),
        Placed(dot.x, up, "center"),
        Placed(dot.x, down, "center"),
        Placed(dot.x + _AWAY / 2, up, "left"),
        Placed(dot.x + _AWAY / 2, down, "left"),
        Placed(dot.x - _AWAY / 2, up, "right"),
        Placed(dot.x - _AWAY / 2, down, "right"),
    )


def _box(placed: Placed, text: str) -> _Box:
    width = CHARACTER_PX * len(text)
    left_px = {"left": placed.x, "right": placed.x - width, "center": placed.x - width / 2}[
        placed.align
    ]
    return (left_px, placed.y - HEIGHT_PX / 2, left_px + width, placed.y + HEIGHT_PX / 2)


def _overlap(a: _Box, b: _Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _inside(box: _Box, edge: _Box) -> bool:
    return box[0] >= edge[0] and box[1] >= edge[1] and box[2] <= edge[2] and box[3] <= edge[3]


def _neighbours(dot: Dot, dots: Sequence[Dot]) -> int:
    return sum(
        abs(neighbour.x - dot.x) < 80 and abs(neighbour.y - dot.y) < 20 for neighbour in dots
    )
