"""A matrix on the terminal: while it runs, and as it stands."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from diskbench.cli.terminal import print_json
from diskbench.engine.matrix.campaign import changed_cells
from diskbench.engine.matrix.status import matrix_status
from diskbench.errors import StoreUnavailable
from diskbench.model.campaign import FINAL, CellState, MatrixStatus
from diskbench.report.assemble.side_by_side import rows_of_replicates
from diskbench.report.terminal.screen import GuardedLive, print_trimmed, screen
from diskbench.report.terminal.status_text import LISTED, matrix_end, matrix_table
from diskbench.results.replicate_set import replicates_of
from diskbench.store.campaigns import load_campaign
from diskbench.store.where import Filter

if TYPE_CHECKING:
    from collections.abc import Callable

    import sqlalchemy as sa
    from rich.console import RenderableType

Output = Literal["table", "json"]
_ROWS = 20
"""Cells in the live table; our choice: it should stay on the screen."""


def progress_table(database: sa.Engine, campaign_id: str) -> RenderableType:
    """The totals of a running matrix, and the cells that matter most."""
    return _table(matrix_status(database, load_campaign(database, campaign_id)), most=_ROWS)


def _table(status: MatrixStatus, *, most: int | None = None) -> RenderableType:
    """The totals and a line for each listed cell, or for the `most` important ones."""
    longest = max((len(cell.row.key) for cell in status.cells), default=0)
    listed = [cell for cell in status.cells if cell.row.state in LISTED]
    first = sorted(listed, key=lambda cell: LISTED.index(cell.row.state))[:most]
    cells = tuple(sorted(first, key=lambda cell: cell.row.position))
    return matrix_table(status.model_copy(update={"cells": cells}), longest=longest)


def show_table_while(database: sa.Engine, campaign_id: str, goes_on: Callable[[], bool]) -> None:
    """Show the matrix as a live table while `goes_on` returns true. While the database is away the
    last table stays."""
    table = progress_table(database, campaign_id)
    console = screen(error=True)
    with GuardedLive(table, console=console, auto_refresh=False, transient=True) as live:
        while goes_on():
            with suppress(StoreUnavailable):
                live.update(progress_table(database, campaign_id), refresh=True)


def print_changes_while(database: sa.Engine, campaign_id: str, goes_on: Callable[[], bool]) -> None:
    """Print a line for every cell whose state has changed, while `goes_on` returns true."""
    known: dict[int, CellState] = {}
    again = True
    while again:
        again = goes_on()
        with suppress(StoreUnavailable):  # who works on the matrix reports it, and waits
            for cell in changed_cells(database, campaign_id, known):
                why = f": {cell.error}" if cell.error and cell.state != "done" else ""
                print(f"{cell.key}: {cell.state}{why}", file=sys.stderr, flush=True)


def print_matrix_status(database: sa.Engine, status: MatrixStatus, output: Output) -> None:
    """The matrix on stdout, as a table or as one document; of one that is over its figures."""
    if output == "json":
        print_json(status.model_dump_json(indent=2))
        return
    console, is_over = screen(), status.state == "done"
    print_trimmed(console, _end(database, status, console.width) if is_over else _table(status))


def _end(database: sa.Engine, status: MatrixStatus, width: int) -> RenderableType:
    """A matrix that is over, with its figures, its replicates together."""
    without = FINAL - {"done", "spared"}
    cells = tuple(cell for cell in status.cells if cell.row.state in without)
    over = status.model_copy(update={"cells": cells})
    if not over.counts.get("done"):
        return matrix_end(over, (), (), width=width)
    mine = Filter("campaign_id", "=", over.campaign_id)
    replicates = replicates_of(database, [mine], canaries=False)
    return matrix_end(over, rows_of_replicates(replicates.lines), replicates.marks, width=width)
