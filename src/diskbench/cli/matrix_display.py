"""A matrix on the terminal: while it runs, and as it stands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Literal

import sqlalchemy as sa
from rich.console import Console, RenderableType

from diskbench.engine.matrix.changed_cells import changed_cells
from diskbench.engine.matrix.matrix_status import MatrixLook, look_at
from diskbench.errors import StoreUnavailable
from diskbench.model.campaign import CellState
from diskbench.report.assemble.beside import rows_of_replicates
from diskbench.report.terminal.cell_lines import print_cells, widest_of
from diskbench.report.terminal.matrix_table import LISTED, matrix_end, matrix_head, matrix_table
from diskbench.report.terminal.plain import print_trimmed
from diskbench.report.terminal.screen import live as live_on
from diskbench.report.terminal.screen import screen
from diskbench.results.replicate_set import replicates_of
from diskbench.store.campaigns import load_campaign
from diskbench.store.shown_cells import PAGE, texts_of_cells
from diskbench.store.where import Filter
from diskbench.visible import json_escaped

Output = Literal["table", "json"]
_ROWS = 20
"""Cells in the live table; our choice: it should stay on the screen."""
_NO_CELLS = '\n  "cells": [],\n'
"""Where the cells stand in the document of a matrix without any. No text in JSON has a line feed,
so it is there once."""


def progress_table(database: sa.Engine, campaign_id: str) -> RenderableType:
    """The totals of a running matrix, and the cells that matter most."""
    look = look_at(database, load_campaign(database, campaign_id))
    cells = look.important(LISTED, _ROWS)
    return matrix_table(look.totals.model_copy(update={"cells": cells}), longest=look.longest_key)


def show_table_while(database: sa.Engine, campaign_id: str, goes_on: Callable[[], bool]) -> None:
    """Show the matrix as a live table while `goes_on` returns true. While the database is away the
    last table stays."""
    table = progress_table(database, campaign_id)
    with live_on(table, console=screen(error=True), auto_refresh=False, transient=True) as live:
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
        for part in _document(look):
            sys.stdout.write(json_escaped(part))
        return

    console = screen()
    if look.totals.state == "done":
        print_trimmed(console, _end(look, console.width))
    else:
        _print_all(console, look)


def _document(look: MatrixLook) -> Iterator[str]:
    """The JSON document of the matrix and all its cells, page by page."""
    head, mark, rest = look.totals.model_dump_json(indent=2).partition(_NO_CELLS)
    assert mark, "the totals have no cells"
    yield head
    before = '\n  "cells": ['
    for page in look.pages():
        for cell in page:
            text = cell.model_dump_json(indent=2).replace("\n", "\n    ")
            yield f"{before}\n    {text}"
            before = ","
    yield f"{before}],\n" if before != "," else "\n  ],\n"
    yield f"{rest}\n"


def _print_all(console: Console, look: MatrixLook) -> None:
    """The totals and a line for each cell, laid out by rich where they are few."""
    totals = look.totals
    count = sum(totals.counts.get(state, 0) for state in LISTED)
    if count <= PAGE:
        status = totals.model_copy(update={"cells": look.important(LISTED, count)})
        print_trimmed(console, matrix_table(status, longest=look.longest_key))
        return
    for line in matrix_head(totals):
        print_trimmed(console, line)
    live = ((cell.row.position, cell.row.key, cell.doing) for cell in look.live())
    texts = chain(live, texts_of_cells(look.database, totals.campaign_id))
    widest = widest_of(look.longest_key, texts)
    pages = ([cell for cell in page if cell.row.state in LISTED] for page in look.pages())
    print_cells(console, widest, pages)


def _end(look: MatrixLook, width: int) -> RenderableType:
    """A matrix that is over, with its figures, its replicates together."""
    over = look.totals.model_copy(update={"cells": look.without_result()})
    if not over.counts.get("done"):
        return matrix_end(over, (), (), width=width)
    mine = Filter("campaign_id", "=", over.campaign_id)
    replicates = replicates_of(look.database, [mine], canaries=False)
    return matrix_end(over, rows_of_replicates(replicates.lines), replicates.marks, width=width)
