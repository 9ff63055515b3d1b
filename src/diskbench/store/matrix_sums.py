"""What a matrix is as a whole, summed by the database: its states, its queues, how far its
blocks are (what `until_ci` asks, MR-7), and what its trials cost so far.

The formula of costs is that of catalog/cost.py: hourly price × age of the lease.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from diskbench.model.campaign import LIVE, CellState
from diskbench.store import schema
from diskbench.store.clock import present, unix_s
from diskbench.store.database import one_statement, transaction


@dataclass(frozen=True)
class CellSums:
    """The sums over the cells of a matrix. `counts` is by state, in the order of the first cell of
    each; `unpriced` counts the cells that began without a known price."""

    counts: dict[CellState, int]
    unpriced: int


def sum_cells(database: Engine, campaign_id: str) -> CellSums:
    """The sums over all cells of a matrix, by one statement."""
    cell = schema.cell.c
    is_unpriced = sa.and_(cell.hourly_usd.is_(None), cell.started_at.is_not(None))
    query = (
        sa.select(
            cell.state,
            sa.func.count(),
            sa.func.sum(sa.case((is_unpriced, 1), else_=0)),
        )
        .where(cell.campaign_id == campaign_id)
        .group_by(cell.state)
        .order_by(sa.func.min(cell.position))
    )
    with one_statement(database) as connection:
        rows = connection.execute(query).all()
    return CellSums(
        counts={state: count for state, count, _ in rows},
        unpriced=sum(unpriced for _, _, unpriced in rows),
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


def states_of(database: Engine, campaign_id: str) -> dict[int, CellState]:
    """The state of each cell of a matrix by its position."""
    cell = schema.cell.c
    query = sa.select(cell.position, cell.state).where(cell.campaign_id == campaign_id)
    with one_statement(database) as connection:
        return {position: cast("CellState", state) for position, state in connection.execute(query)}


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


_HOUR_S = 3600.0


def spent_on_trials(
    database: Engine, campaign_id: str, assumed_usd_per_hour: float | None
) -> tuple[float, dict[str, float]]:
    """The cost in US dollars of a matrix's trials without its running attempts, and that of each
    running attempt so far, by trial id. A trial that ended counts with the cost in its cell's row
    where that is more. Where no price is known, an hour costs the assumed one, else nothing."""
    lease, trial, cell = schema.lease, schema.trial, schema.cell
    usd = _usd_of(lease, assumed_usd_per_hour)
    known = sa.func.coalesce(cell.c.cost_usd, 0.0)
    is_newest = cell.c.trial_id.is_not(None)
    is_live = sa.and_(is_newest, cell.c.finished_at.is_(None))
    leases = (
        lease.join(trial, trial.c.trial_id == lease.c.lease_id)
        .outerjoin(
            cell, sa.and_(cell.c.trial_id == lease.c.lease_id, cell.c.campaign_id == campaign_id)
        )
    )  # fmt: skip
    mine = trial.c.campaign_id == campaign_id
    over = sa.func.sum(sa.case((sa.and_(is_newest, known > usd), known), else_=usd))
    with transaction(database) as connection:
        done = connection.execute(
            sa.select(sa.func.coalesce(over, 0.0)).select_from(leases).where(mine, ~is_live)
        ).scalar_one()
        live = connection.execute(
            sa.select(lease.c.lease_id, usd).select_from(leases).where(mine, is_live)
        ).all()
    return float(done), {trial_id: float(so_far) for trial_id, so_far in live}


def spent_on_idle_machines(
    database: Engine, campaign_id: str, assumed_usd_per_hour: float | None
) -> float:
    """The cost in US dollars of a matrix's shared machines while no trial used them: of each, its
    own cost without that of its trials."""
    lease, machine, run = schema.lease, schema.machine, schema.run
    usd = _usd_of(lease, assumed_usd_per_hour)
    machines = (
        sa.select(lease.c.lease_id, usd.label("usd"))
        .join(machine, machine.c.lease_id == lease.c.lease_id)
        .where(machine.c.campaign_id == campaign_id)
        .subquery()
    )
    turns = (
        sa.select(run.c.machine_lease, sa.func.sum(usd).label("usd"))
        .join(lease, lease.c.lease_id == run.c.trial_id)
        .where(
            run.c.campaign_id == campaign_id,
            run.c.machine_lease.is_not(None),
            run.c.run_index == 0,
        )
        .group_by(run.c.machine_lease)
        .subquery()
    )
    idle = machines.c.usd - sa.func.coalesce(turns.c.usd, 0.0)
    query = sa.select(
        sa.func.coalesce(sa.func.sum(sa.case((idle > 0.0, idle), else_=0.0)), 0.0)
    ).select_from(machines.outerjoin(turns, turns.c.machine_lease == machines.c.lease_id))
    with one_statement(database) as connection:
        return float(connection.execute(query).scalar_one())


def _usd_of(lease: sa.Table, assumed_usd_per_hour: float | None) -> sa.ColumnElement[float]:
    until = unix_s(sa.func.coalesce(lease.c.released_at, present()))
    age_s = until - unix_s(lease.c.created_at)
    hourly = sa.func.coalesce(lease.c.hourly_usd, assumed_usd_per_hour or 0.0)
    return sa.case((age_s > 0.0, hourly * age_s / _HOUR_S), else_=0.0)
