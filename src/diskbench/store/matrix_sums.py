"""What a matrix is as a whole, summed by the database: it may have 100,000 cells, and who looks at
it reads as much of one with a hundred."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from diskbench.model.campaign import LIVE, CellState
from diskbench.store import schema
from diskbench.store.database import one_statement


@dataclass(frozen=True)
class CellSums:
    """The sums over the cells of a matrix. `counts` is by state, in the order of the first cell of
    each; `unpriced` counts the cells that began without a known price; `longest_key` is the most
    characters of a cell's name."""

    counts: dict[CellState, int]
    unpriced: int
    longest_key: int


def sum_cells(database: Engine, campaign_id: str) -> CellSums:
    """The sums over all cells of a matrix, by one statement."""
    cell = schema.cell.c
    is_unpriced = sa.and_(cell.hourly_usd.is_(None), cell.started_at.is_not(None))
    query = (
        sa.select(
            cell.state,
            sa.func.count(),
            sa.func.sum(sa.case((is_unpriced, 1), else_=0)),
            sa.func.max(sa.func.length(cell.key)),
        )
        .where(cell.campaign_id == campaign_id)
        .group_by(cell.state)
        .order_by(sa.func.min(cell.position))
    )
    with one_statement(database) as connection:
        rows = connection.execute(query).all()
    return CellSums(
        counts={state: count for state, count, _, _ in rows},
        unpriced=sum(unpriced for _, _, unpriced, _ in rows),
        longest_key=max((longest for _, _, _, longest in rows), default=0),
    )


def unfinished_routes(database: Engine, campaign_id: str) -> set[str]:
    """The routes of the cells of a matrix that have not ended."""
    cell = schema.cell.c
    query = (
        sa.select(cell.route)
        .where(cell.campaign_id == campaign_id, cell.finished_at.is_(None))
        .distinct()
    )
    with one_statement(database) as connection:
        return set(connection.execute(query).scalars())


@dataclass(frozen=True)
class WaitingGroup:
    """Waiting cells of one partition and shared machine that are expected to take equally long,
    None where that is not known; and the positions of the `first` and the `last` of them."""

    partition: str
    machine: str | None
    expected_s: float | None
    count: int
    first: int
    last: int


def waiting_groups(database: Engine, campaign_id: str) -> list[WaitingGroup]:
    """The waiting cells of a matrix in groups, by the first cell of each."""
    cell = schema.cell.c
    alike = (cell.partition, cell.machine, cell.expected_s)
    query = (
        sa.select(*alike, sa.func.count(), sa.func.min(cell.position), sa.func.max(cell.position))
        .where(cell.campaign_id == campaign_id, cell.state == "waiting")
        .group_by(*alike)
        .order_by(sa.func.min(cell.position))
    )
    with one_statement(database) as connection:
        return [WaitingGroup(*row) for row in connection.execute(query)]


def waiting_in_order(database: Engine, campaign_id: str) -> list[WaitingGroup]:
    """Each waiting cell of a matrix as a group of its own, in order."""
    cell = schema.cell.c
    query = (
        sa.select(cell.partition, cell.machine, cell.expected_s, cell.position)
        .where(cell.campaign_id == campaign_id, cell.state == "waiting")
        .order_by(cell.position)
    )
    with one_statement(database) as connection:
        return [
            WaitingGroup(partition, machine, expected_s, 1, at, at)
            for partition, machine, expected_s, at in connection.execute(query)
        ]


@dataclass(frozen=True)
class QueueCount:
    """How many unfinished cells, of matrices that are left to workers, have one route and partition
    and are in one state; `is_owned`: a process has taken them."""

    route: str
    partition: str
    state: CellState
    is_owned: bool
    count: int

    @property
    def place(self) -> str:
        """Whether they wait for their turn, for a worker, or run."""
        if self.state not in LIVE:
            return "waiting"
        return "running" if self.is_owned else "queued"


def count_queues(database: Engine) -> list[QueueCount]:
    """The unfinished cells of all matrices that are left to workers, counted."""
    cell, matrix = schema.cell, schema.matrix
    is_owned = cell.c.owner.is_not(None)
    alike = (cell.c.route, cell.c.partition, cell.c.state, is_owned)
    query = (
        sa.select(*alike, sa.func.count())
        .join(matrix, matrix.c.campaign_id == cell.c.campaign_id)
        .where(
            cell.c.state.in_(sorted({"waiting", *LIVE})),
            matrix.c.kind.is_(None),
            matrix.c.queue.is_(None),
        )
        .group_by(*alike)
    )
    with one_statement(database) as connection:
        return [
            QueueCount(route, partition, state, bool(owned), count)
            for route, partition, state, owned, count in connection.execute(query)
        ]


def count_states(database: Engine, campaign_id: str) -> dict[CellState, int]:
    """How many cells of a matrix are in which state, counted in an index."""
    cell = schema.cell.c
    query = (
        sa.select(cell.state, sa.func.count().label("cells"))
        .where(cell.campaign_id == campaign_id)
        .group_by(cell.state)
    )
    with one_statement(database) as connection:
        return {row.state: row.cells for row in connection.execute(query)}


def states_of(database: Engine, campaign_id: str) -> dict[int, CellState]:
    """The state of each cell of a matrix by its position."""
    cell = schema.cell.c
    query = sa.select(cell.position, cell.state).where(cell.campaign_id == campaign_id)
    with one_statement(database) as connection:
        return {position: cast("CellState", state) for position, state in connection.execute(query)}
