"""A text in a cell of a table that is cut where the table is narrow, so that the columns of numbers
and states stay whole: rich shrinks all columns alike where none of them may wrap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.measure import Measurement
from rich.text import Text

from diskbench.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, ConsoleOptions

_LEAST = 8
"""Fewest characters that are left of a text; our choice."""


@dataclass(frozen=True)
class Fitted:
    """`text` on one line for each of its own, as wide as the column. A name is cut in its `middle`:
    its end, the replicate, tells cells apart. `beside` are the characters of the table that other
    columns need before this one may be wide."""

    text: str
    middle: bool = False
    beside: int = 0

    @property
    def _lines(self) -> list[str]:
        return visible(self.text).expandtabs().split("\n")

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        most = max(map(cell_len, self._lines))
        room = min(options.max_width, max(_LEAST, console.width - self.beside))
        return Measurement(min(most, _LEAST), min(most, room))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        for line in self._lines:
            yield Text(cut(line, options.max_width, middle=self.middle), no_wrap=True)


def cut(text: str, width: int, *, middle: bool = False) -> str:
    """`text` in at most `width` columns, with … for what its end or its `middle` lacks."""
    if cell_len(text) <= width:
        return text
    end = text[len(text) - (width - 1) // 2 :] if middle else ""
    while cell_len(end) >= width:
        end = end[1:]
    return f"{set_cell_size(text, max(width - 1 - cell_len(end), 0))}…{end}"
