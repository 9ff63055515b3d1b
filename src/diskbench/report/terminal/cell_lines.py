"""A line for each cell of a large matrix, printed page by page.

They are the lines of the table of matrix_table.py, which rich lays out and holds in memory as a
whole: of 10,000 cells that takes seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from diskbench.report.terminal.matrix_table import ORDER, STYLE, cell_table
from diskbench.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

    from diskbench.model.matrix_progress import CellStatus

_BETWEEN = "  "
_TAB = 8


@dataclass(frozen=True)
class CellWidths:
    """The columns of the terminal that the position, name, state and last text of a cell take."""

    position: int
    key: int
    state: int
    doing: int


def widths_of(console: Console, longest: int, texts: Iterable[tuple[int, str, str]]) -> CellWidths:
    """The widths on this console. `longest` is the most characters of a name, and `texts` are the
    position, the name and the last text of each cell that is shown."""
    last = key = doing = 0
    for position, name, text in texts:
        last, key = max(last, position + 1), max(key, *map(cell_len, _lines(name)))
        doing = max(doing, *map(cell_len, _lines(text)))
    # rich lays out one row with the longest text of each column: what fills a column is not blank.
    table = cell_table(longest)
    widest = max(map(len, ORDER))
    table.add_row(str(last), *("x" * width for width in (key, widest, doing)))
    row = console.render_lines(table, pad=False)[-1]
    columns = [len(word) for word in "".join(segment.text for segment in row).split()]
    return CellWidths(*columns, *[0] * (4 - len(columns)))


def print_header(console: Console, widths: CellWidths) -> None:
    """Print the line above the first cell."""
    header = Text.assemble(
        ("#".rjust(widths.position), "bold"),
        _BETWEEN,
        ("cell".ljust(widths.key)[: widths.key], "bold"),
        _BETWEEN,
        ("state".ljust(widths.state), "bold"),
    )
    _print(console, [header])


def print_cells(console: Console, widths: CellWidths, cells: Sequence[CellStatus]) -> None:
    """Print these cells, each on a line; one whose text has several lines on as many."""
    _print(console, [line for cell in cells for line in _of_cell(cell, widths)])


def _of_cell(cell: CellStatus, widths: CellWidths) -> Iterator[Text]:
    row = cell.row
    keys, doings = _lines(row.key), _lines(cell.doing)
    for number in range(max(len(keys), len(doings))):
        key = keys[number] if number < len(keys) else ""
        doing = doings[number] if number < len(doings) else ""
        place, state = (str(row.position + 1), row.state) if number == 0 else ("", "")
        yield Text.assemble(
            place.rjust(widths.position), _BETWEEN, _cut(key, widths.key), _BETWEEN,
            (state.ljust(widths.state), STYLE[row.state]), _BETWEEN, _cut(doing, widths.doing),
        )  # fmt: skip


def _lines(text: str) -> list[str]:
    return visible(text).expandtabs(_TAB).split("\n")


def _cut(text: str, width: int) -> str:
    """The text in exactly `width` columns of the terminal; an ellipsis ends one that was longer."""
    if cell_len(text) > width:
        text = set_cell_size(text, width - 1) + "…"
    return set_cell_size(text, width)


def _print(console: Console, lines: Sequence[Text]) -> None:
    if console.is_terminal:
        console.print(Text("\n").join(lines), soft_wrap=True)
    else:
        console.file.write("".join(f"{line.plain.rstrip()}\n" for line in lines))
