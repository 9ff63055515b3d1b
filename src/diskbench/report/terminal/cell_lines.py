"""A line for each cell of a large matrix, printed page by page.

They are the lines of the table of matrix_table.py, which rich lays out and holds in memory as a
whole: of 10,000 cells that takes seconds. Where a line has room for the longest texts, it is made
here; where rich cuts or drops columns, rich lays out each page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment, SegmentLines
from rich.style import Style
from rich.text import Text

from diskbench.report.terminal.matrix_table import (
    ORDER,
    STYLE,
    add_cells,
    cell_row,
    cell_table,
)
from diskbench.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

    from diskbench.model.campaign import CellStatus

_BETWEEN = "  "
_TAB = 8
_STATE = max(map(len, ORDER))


@dataclass(frozen=True)
class Widest:
    """The columns of the terminal that the longest texts of all cells take: position, name and last
    text. `longest` is the most characters of a name."""

    position: int
    key: int
    doing: int
    longest: int

    def row(self) -> tuple[str, str, str, str]:
        """A row with a text as long as the longest in each column."""
        return tuple("x" * n for n in (self.position, self.key, _STATE, self.doing))  # type: ignore[return-value]


def widest_of(longest: int, texts: Iterable[tuple[int, str, str]]) -> Widest:
    """The widest texts. `longest` is the most characters of any name, and `texts` are the position,
    the name and the last text of each cell that is shown."""
    last, key, doing = 0, 0, 0
    for position, name, text in texts:
        last = max(last, position + 1)
        key = max(key, *map(cell_len, _lines(name)))
        doing = max(doing, *map(cell_len, _lines(text)))
    return Widest(len(str(last)), key, doing, longest)


def print_cells(console: Console, widest: Widest, pages: Iterable[Sequence[CellStatus]]) -> None:
    """Print a header, and these cells in the layout that they have as one table."""
    header, row = _laid_out(console, widest, ())
    _print(console, [header])
    has_room = _plain(row).rstrip() == _BETWEEN.join(widest.row()).rstrip()
    for page in pages:
        if has_room:
            _print(console, [line for cell in page for line in _of_cell(cell, widest)])
        else:
            _print(console, _laid_out(console, widest, page)[1:-1])


def _laid_out(console: Console, widest: Widest, cells: Sequence[CellStatus]) -> list[list[Segment]]:
    """The lines of a table of these cells as rich lays it out beside the widest texts of all cells:
    the header, the cells, and last the row of the widest texts."""
    table = cell_table()
    add_cells(table, cells, widest.longest)
    number, key, state, doing = widest.row()
    table.add_row(*cell_row(number, key, Text(state), doing, widest.longest))
    return console.render_lines(table, pad=False)


def _of_cell(cell: CellStatus, widest: Widest) -> Iterator[list[Segment]]:
    row = cell.row
    keys, doings = _lines(row.key), _lines(cell.doing)
    for number in range(max(len(keys), len(doings))):
        key = keys[number] if number < len(keys) else ""
        doing = doings[number] if number < len(doings) else ""
        place, state = (str(row.position + 1), row.state) if number == 0 else ("", "")
        before = (place.rjust(widest.position), _padded(key, widest.key), "")
        style = Style.parse(STYLE[row.state])
        yield [
            Segment(_BETWEEN.join(before)),
            Segment(state.ljust(_STATE), style),
            Segment(_BETWEEN + doing),
        ]


def _lines(text: str) -> list[str]:
    return visible(text).expandtabs(_TAB).split("\n")


def _padded(text: str, width: int) -> str:
    return text.ljust(width) if text.isascii() else set_cell_size(text, width)


def _plain(line: Sequence[Segment]) -> str:
    return "".join(segment.text for segment in line)


def _print(console: Console, lines: Sequence[list[Segment]]) -> None:
    """Print; as `print_trimmed` does, without trailing blanks if that is not on a terminal."""
    if console.is_terminal:
        console.print(SegmentLines(lines, new_lines=True), end="")
    else:
        console.file.write("".join(f"{_plain(line).rstrip()}\n" for line in lines))
