"""A matrix on the terminal: while it runs, and as it stands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal

from diskbench.cli.terminal import print_json
from diskbench.report.assemble.beside import rows_of_replicates
from diskbench.report.terminal.matrix_table import matrix_end, matrix_table
from diskbench.report.terminal.plain import print_trimmed
from diskbench.report.terminal.screen import live as live_on
from diskbench.report.terminal.screen import screen
from diskbench.results.replicate_set import replicates_of
from diskbench.store.query import Filter

if TYPE_CHECKING:
    from collections.abc import Callable

    import sqlalchemy as sa
    from rich.console import RenderableType

    from diskbench.model.matrix_progress import MatrixStatus

Output = Literal["table", "json"]
_ROWS = 20
"""Cells in the live table; our choice: it should stay on the screen."""


def shown_while(
    status_now: Callable[[], MatrixStatus],
    goes_on: Callable[[], bool],
    *,
    quiet: bool,
    lines: bool = True,
) -> None:
    """Show the matrix while `goes_on` returns true: a live table on a terminal, else a line
    for every change of a cell's state."""
    if quiet:
        _in_lines(status_now, goes_on, lines=lines)
        return

    console = screen(error=True)
    table = matrix_table(status_now(), rows=_ROWS)
    with live_on(table, console=console, auto_refresh=False, transient=True) as live:
        while goes_on():
            live.update(matrix_table(status_now(), rows=_ROWS), refresh=True)


def _in_lines(
    status_now: Callable[[], MatrixStatus], goes_on: Callable[[], bool], *, lines: bool
) -> None:
    last_state: dict[int, str] = {}
    again = True
    while again:
        again = goes_on()
        if not lines:
            continue
        for cell in status_now().cells:
            row = cell.row
            if last_state.get(row.position, "waiting") != row.state:
                why = f": {row.error}" if row.error and row.state != "done" else ""
                print(f"{row.key}: {row.state}{why}", file=sys.stderr, flush=True)
            last_state[row.position] = row.state


def print_matrix_status(database: sa.Engine, last: MatrixStatus, output: Output) -> None:
    """The matrix on stdout, as a table or as one document; of one that is over its figures."""
    if output == "json":
        print_json(last.model_dump_json(indent=2))
        return

    console = screen()
    if last.state == "done":
        print_trimmed(console, _end(database, last, console.width))
    else:
        print_trimmed(console, matrix_table(last))


def _end(database: sa.Engine, last: MatrixStatus, width: int) -> RenderableType:
    """A matrix that is over, with its figures, its replicates together."""
    if not last.counts.get("done"):
        return matrix_end(last, (), (), width=width)
    replicates = replicates_of(database, [Filter("campaign_id", "=", last.campaign_id)])
    return matrix_end(last, rows_of_replicates(replicates.lines), replicates.marks, width=width)
