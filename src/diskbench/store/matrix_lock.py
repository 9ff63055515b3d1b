"""A matrix whose row is locked, so that one process at a time gives its cells their turns."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from diskbench.model.campaign import LIVE, CampaignState, CellRow
from diskbench.store import schema
from diskbench.store.campaigns import CampaignRow
from diskbench.store.database import transaction
from diskbench.store.dialects import present

_READ_AT = "read_at"


class Locked:
    """A matrix whose row this process has locked: no other process changes it meanwhile.

    `now` is the database's time by which turns are given. The lock was held when it was read, so
    that a later turn has a later time.
    """

    def __init__(self, connection: Connection, campaign: CampaignRow) -> None:
        self._connection, self.campaign = connection, campaign
        cell = schema.cell
        query = (
            # The time comes with the cells: others wait for the lock during each round trip.
            sa.select(cell, present().label(_READ_AT))
            .where(cell.c.campaign_id == campaign.campaign_id)
            .order_by(cell.c.position)
        )
        rows = [dict(row) for row in connection.execute(query).mappings()]
        times = {row.pop(_READ_AT) for row in rows}
        self.now = datetime.fromisoformat(
            max(times) if times else connection.execute(sa.select(present())).scalar_one()
        )
        self._cells = {row["position"]: CellRow.model_validate(row) for row in rows}

    @property
    def cells(self) -> Sequence[CellRow]:
        """The cells, in order, with what was changed of them."""
        return tuple(self._cells.values())

    @property
    def is_over(self) -> bool:
        """Whether every cell ended."""
        return all(cell.state not in {"waiting", *LIVE} for cell in self._cells.values())

    def set_cell(self, position: int, **values: object) -> None:
        """Change one cell."""
        cell, campaign_id = schema.cell, self.campaign.campaign_id
        one = sa.update(cell).where(cell.c.campaign_id == campaign_id, cell.c.position == position)
        self._connection.execute(one.values(**values))
        self._cells[position] = self._cells[position].model_copy(update=values)

    def set_state(self, state: CampaignState, *, at: str | None = None) -> None:
        """Set the state of the matrix; when it is done, its end is `at` (default: now)."""
        matrix, end = schema.matrix, (at or present()) if state == "done" else None
        mine = sa.update(matrix).where(matrix.c.campaign_id == self.campaign.campaign_id)
        self._connection.execute(mine.values(state=state, finished_at=end))


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
        row = connection.execute(query).mappings().one()
        yield Locked(connection, CampaignRow.model_validate(dict(row)))
