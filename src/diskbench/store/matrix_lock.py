"""A matrix whose row is locked, so that one process at a time gives its cells their turns."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from diskbench.model.campaign import LIVE, CampaignState, CellRow, CellState
from diskbench.store import schema
from diskbench.store.campaigns import CampaignRow, campaign_of_row
from diskbench.store.cells import cell_row
from diskbench.store.clock import present
from diskbench.store.database import transaction

_READ_AT = "read_at"


class Locked:
    """A matrix whose row this process has locked: no other process changes it meanwhile."""

    def __init__(self, connection: Connection, campaign: CampaignRow) -> None:
        self._connection, self.campaign = connection, campaign
        self._read_at: datetime | None = None
        self._any_live = False

    def now(self) -> datetime:
        """The database's time by which turns are given, read once: with the first cells that are
        read, or when it is first asked for. The lock is held by then, so that a later turn has a
        later time."""
        if self._read_at is None:
            text = self._connection.execute(sa.select(present())).scalar_one()
            self._read_at = datetime.fromisoformat(text)
        return self._read_at

    def cells(self) -> list[CellRow]:
        """The cells, in order."""
        return self._cells()

    def under_way(self, *, since: str | None) -> list[CellRow]:
        """The cells that are live, or that got their turn after `since` (None: that does not
        matter): the few cells that decide whether a waiting cell may start."""
        cell = schema.cell
        decide: list[sa.ColumnElement[bool]] = [cell.c.state.in_(sorted(LIVE))]
        # Each condition is a search of its own, by its own index, as SQLite makes none of an OR.
        if since is not None:
            decide.append(cell.c.queued_at > since)
        mine = cell.c.campaign_id == self.campaign.campaign_id
        positions = sa.union(
            *(sa.select(cell.c.position).where(mine, condition) for condition in decide)
        )
        cells = self._cells(cell.c.position.in_(positions))
        self._any_live = any(cell.state in LIVE for cell in cells)
        return cells

    def one_of_each(self, machines: Collection[str]) -> list[CellRow]:
        """The first cell of each of these shared machines."""
        cell = schema.cell
        mine = cell.c.campaign_id == self.campaign.campaign_id, cell.c.machine.in_(sorted(machines))
        first = sa.select(sa.func.min(cell.c.position)).where(*mine).group_by(cell.c.machine)
        return self._cells(cell.c.position.in_(first)) if machines else []

    def counts(self) -> dict[str, dict[CellState, int]]:
        """How many cells of each block are in each state."""
        cell = schema.cell.c
        mine = cell.campaign_id == self.campaign.campaign_id
        query = sa.select(cell.block, cell.state, sa.func.count()).where(mine)
        blocks: dict[str, dict[CellState, int]] = {}
        for block, state, count in self._connection.execute(query.group_by(cell.block, cell.state)):
            blocks.setdefault(block, {})[state] = count
        return blocks

    def waiting_in(self, block: str) -> list[int]:
        """The positions of the waiting cells of a block."""
        cell = schema.cell.c
        mine = cell.campaign_id == self.campaign.campaign_id
        query = sa.select(cell.position).where(mine, cell.state == "waiting", cell.block == block)
        return list(self._connection.execute(query.order_by(cell.position)).scalars())

    def waiting(self) -> list[CellRow]:
        """The waiting cells, in order."""
        return self._cells(schema.cell.c.state == "waiting")

    def is_over(self) -> bool:
        """Whether every cell ended. The database is not asked where `under_way` read a live cell:
        the process of the last one looks again when it has ended."""
        if self._any_live:
            return False
        cell = schema.cell
        mine = sa.select(cell.c.position).where(cell.c.campaign_id == self.campaign.campaign_id)
        # Apart, and in the order of the index: of half the cells PostgreSQL would read the table.
        live = mine.where(cell.c.state.in_(sorted(LIVE))).limit(1)
        waiting = mine.where(cell.c.state == "waiting").order_by(cell.c.position).limit(1)
        return all(self._connection.execute(query).first() is None for query in (live, waiting))

    def _cells(self, *conditions: sa.ColumnElement[bool]) -> list[CellRow]:
        cell = schema.cell
        query = (
            # The time comes with the cells: others wait for the lock during each round trip.
            sa.select(cell, present().label(_READ_AT))
            .where(cell.c.campaign_id == self.campaign.campaign_id, *conditions)
            .order_by(cell.c.position)
        )
        rows = [dict(row) for row in self._connection.execute(query).mappings()]
        times = [row.pop(_READ_AT) for row in rows]
        if times and self._read_at is None:
            self._read_at = datetime.fromisoformat(times[0])
        return [cell_row(row) for row in rows]

    def set_cell(self, position: int, **values: object) -> None:
        """Change one cell."""
        cell = schema.cell
        self._connection.execute(
            sa.update(cell)
            .where(cell.c.campaign_id == self.campaign.campaign_id, cell.c.position == position)
            .values(**values)
        )

    def set_state(self, state: CampaignState, *, at: str | None = None) -> None:
        """Set the state of the matrix; when it is done, its end is `at` (default: now)."""
        matrix = schema.matrix
        self._connection.execute(
            sa.update(matrix)
            .where(matrix.c.campaign_id == self.campaign.campaign_id)
            .values(state=state, finished_at=(at or present()) if state == "done" else None)
        )


@contextmanager
def locked(database: Engine, campaign_id: str) -> Iterator[Locked]:
    """Lock a matrix until the block ends: its row on PostgreSQL, where cells are written beside the
    lock and the row is not written anew; the whole database on SQLite, which a write locks."""
    matrix = schema.matrix
    mine = matrix.c.campaign_id == campaign_id
    query = sa.select(matrix).where(mine)
    with transaction(database) as connection:
        if database.dialect.name == "postgresql":
            query = query.with_for_update(key_share=True)
        else:
            connection.execute(sa.update(matrix).where(mine).values(state=matrix.c.state))
        yield Locked(connection, campaign_of_row(connection.execute(query).mappings().one()))
