"""How far the blocks of a matrix are: what `until_ci` asks of the cells (MR-7)."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from diskbench.store import schema
from diskbench.store.database import one_statement


@dataclass(frozen=True)
class BlockEnds:
    """A block: its `cells`, how many of them are `unfinished`, and why its first spared one was
    spared; None where none was."""

    block: str
    cells: int
    unfinished: int
    spared: str | None


def block_ends(database: Engine, campaign_id: str) -> list[BlockEnds]:
    """The blocks of a matrix in the order of their first cells, counted by the database."""
    cell = schema.cell
    mine = cell.c.campaign_id == campaign_id
    is_open = sa.case((cell.c.finished_at.is_(None), 1), else_=0)
    first_spared = sa.func.min(sa.case((cell.c.state == "spared", cell.c.position)))
    blocks = (
        sa.select(
            cell.c.block,
            sa.func.count().label("cells"),
            sa.func.sum(is_open).label("unfinished"),
            sa.func.min(cell.c.position).label("first"),
            first_spared.label("spared"),
        )
        .where(mine)
        .group_by(cell.c.block)
        .subquery()
    )
    spared = cell.alias()
    query = (
        sa.select(blocks.c.block, blocks.c.cells, blocks.c.unfinished, spared.c.error)
        .outerjoin(
            spared,
            sa.and_(spared.c.campaign_id == campaign_id, spared.c.position == blocks.c.spared),
        )
        .order_by(blocks.c.first)
    )
    with one_statement(database) as connection:
        return [BlockEnds(*row) for row in connection.execute(query)]


def done_trials(database: Engine, campaign_id: str) -> frozenset[tuple[str, str]]:
    """The block and the trial of each cell of a matrix that is done."""
    cell = schema.cell.c
    query = sa.select(cell.block, cell.trial_id).where(
        cell.campaign_id == campaign_id, cell.state == "done", cell.trial_id.is_not(None)
    )
    with one_statement(database) as connection:
        return frozenset((block, trial_id) for block, trial_id in connection.execute(query))
