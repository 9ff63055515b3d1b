"""A matrix on the terminal: while it runs, and as it stands."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from diskbench.engine.matrix.campaign import changed_cells
from diskbench.engine.matrix.status import look_at
from diskbench.errors import StoreUnavailable
from diskbench.report.assemble.report_view import rows_of_replicates
from diskbench.report.terminal.matrix_table import (
    LISTED,
    matrix_end,
    matrix_table,
)
from diskbench.report.terminal.screen import GuardedLive, print_trimmed, screen
from diskbench.results.replicate_set import replicates_of
from diskbench.store.campaigns import load_campaign
from diskbench.store.where import Filter
from diskbench.visible import json_escaped

if TYPE_CHECKING:
    from collections.abc import Callable

    import sqlalchemy as sa
    from rich.console import Console, RenderableType

    from diskbench.engine.matrix.status import MatrixLook
    from diskbench.model.campaign import CellState

Output = Literal["table", "json"]
_ROWS = 20
"""Cells in the live table; our choice: it should stay on the screen."""


def progress_table(database: sa.Engine, campaign_id: str) -> RenderableType:
    """The totals of a running matrix, and the cells that matter most."""
    look = look_at(database, load_campaign(database, campaign_id))
    cells = look.important(LISTED, _ROWS)
    return matrix_table(look.totals.model_copy(update={"cells": cells}), longest=look.longest_key)


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


def print_matrix_status(look: MatrixLook, output: Output) -> None:
    """The matrix on stdout, as a table or as one document; of one that is over its figures."""
    if output == "json":
        print(json_escaped(look.whole().model_dump_json(indent=2)))
        return

    console = screen()
    if look.totals.state == "done":
        print_trimmed(console, _end(look, console.width))
    else:
        _print_all(console, look)


def _print_all(console: Console, look: MatrixLook) -> None:
    """The totals and a line for each cell."""
    totals = look.totals
    count = sum(totals.counts.get(state, 0) for state in LISTED)
    status = totals.model_copy(update={"cells": look.important(LISTED, count)})
    print_trimmed(console, matrix_table(status, longest=look.longest_key))


def _end(look: MatrixLook, width: int) -> RenderableType:
    """A matrix that is over, with its figures, its replicates together."""
    over = look.totals.model_copy(update={"cells": look.without_result()})
    if not over.counts.get("done"):
        return matrix_end(over, (), (), width=width)
    mine = Filter("campaign_id", "=", over.campaign_id)
    replicates = replicates_of(look.database, [mine], canaries=False)
    return matrix_end(over, rows_of_replicates(replicates.lines), replicates.marks, width=width)
