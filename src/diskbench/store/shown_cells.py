"""The cells of a matrix that a command shows: the few that matter now, or all of them in pages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from diskbench.model.campaign import LIVE, CellRow, CellState
from diskbench.store import schema
from diskbench.store.cells import cell_row
from diskbench.store.database import one_statement

PAGE = 500
"""Cells that are read together; our choice."""


def cells_in(
    database: Engine, campaign_id: str, states: Collection[CellState], *, most: int | None = None
) -> list[CellRow]:
    """The first `most` cells of a matrix that are in one of `states`, in order (None: all)."""
    return _read(database, campaign_id, schema.cell.c.state.in_(sorted(states)), most=most)


def first_cells(
    database: Engine, campaign_id: str, order: Sequence[CellState], most: int
) -> list[CellRow]:
    """The first `most` cells, those in the states that come first in `order` before others, in
    their own order. Each state is a search in the index."""
    cells: list[CellRow] = []
    for state in order:
        if len(cells) < most:
            cells += cells_in(database, campaign_id, [state], most=most - len(cells))
    return sorted(cells, key=lambda cell: cell.position)


def cells_at(database: Engine, campaign_id: str, positions: Sequence[int]) -> Iterator[CellRow]:
    """The cells at these positions of a matrix, in order, read page by page."""
    ordered = sorted(positions)
    for start in range(0, len(ordered), PAGE):
        at = schema.cell.c.position.in_(ordered[start : start + PAGE])
        yield from _read(database, campaign_id, at)


def done_cells(
    database: Engine, campaign_id: str, *, with_conditions: bool = False
) -> list[CellRow]:
    """The cells of a matrix that are done, in order; `with_conditions`: those that have some
    (`fail_if`)."""
    cell = schema.cell.c
    conditions = cell.cell["fail_if"].as_string()
    is_meant = [sa.func.coalesce(conditions, "[]") != "[]"] if with_conditions else []
    return _read(database, campaign_id, cell.state == "done", *is_meant)


def pages_of_cells(database: Engine, campaign_id: str) -> Iterator[list[CellRow]]:
    """All cells of a matrix in order, page by page."""
    after = -1
    while page := _read(database, campaign_id, schema.cell.c.position > after, most=PAGE):
        yield page
        after = page[-1].position


def texts_of_cells(database: Engine, campaign_id: str) -> Iterator[tuple[int, str, str]]:
    """The position and name of each cell that is not spared, and why it does nothing; of a live
    cell nothing."""
    cell = schema.cell.c
    why = sa.case((cell.state.in_(sorted(LIVE)), ""), else_=sa.func.coalesce(cell.error, ""))
    mine = cell.campaign_id == campaign_id, cell.state != "spared"
    query = sa.select(cell.position, cell.key, why).where(*mine)
    with one_statement(database) as connection:
        yield from (tuple(row) for row in connection.execute(query))


def _read(
    database: Engine, campaign_id: str, *conditions: sa.ColumnElement[bool], most: int | None = None
) -> list[CellRow]:
    cell = schema.cell
    query = (
        sa.select(cell)
        .where(cell.c.campaign_id == campaign_id, *conditions)
        .order_by(cell.c.position)
        .limit(most)
    )
    with one_statement(database) as connection:
        return [cell_row(row) for row in connection.execute(query).mappings()]
