"""Rows of matrices. Functions for single cells are in cells.py."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import sqlalchemy as sa

from diskbench.errors import UnknownName
from diskbench.model.base import Frozen
from diskbench.model.campaign import LIVE, CampaignState, CellRow, CellState
from diskbench.model.ids import Known, meant
from diskbench.model.matrix import Limits
from diskbench.store import schema
from diskbench.store.cells import cell_row
from diskbench.store.clock import present, ulid_time
from diskbench.store.database import one_statement, transaction
from diskbench.store.notices import announce
from diskbench.store.upsert import insert_missing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlalchemy.engine import Connection, Engine


class CampaignRow(Frozen):
    """One started matrix. `queue` is the only queue of its cells; None: one queue per route, which
    workers listen to. `owner` is the process that runs it in the foreground, `spec` the matrix as
    it was read. `kind` is `run` for the matrix that `diskbench run` makes of its trials
    (store/runs.py), which no function of this module returns except `load_campaign`."""

    campaign_id: str
    name: str
    state: CampaignState = "running"
    queue: str | None = None
    owner: str | None = None
    limits: Limits
    spec: dict[str, Any]
    seed: int | None = None
    order: str
    schedule: str | None = None
    scheduled_for: str | None = None
    created_at: str = ""
    finished_at: str | None = None
    kind: Literal["run"] | None = None

    @property
    def is_run(self) -> bool:
        """Whether it is the matrix of a run, which is deleted when its cells end."""
        return self.kind == "run"


def save_campaign(database: Engine, campaign: CampaignRow, cells: Sequence[CellRow]) -> None:
    """Write a matrix and all its cells, before anything is rented; idempotent."""
    base = {
        "campaign_id": campaign.campaign_id,
        "created_at": ulid_time(campaign.campaign_id),
    }
    with transaction(database) as connection:
        began = campaign.created_at or connection.execute(sa.select(present())).scalar_one()
        row = campaign.model_dump(mode="json") | {"created_at": began}
        insert_missing(connection, schema.campaign, [base])
        insert_missing(connection, schema.matrix, [row])
        insert_missing(connection, schema.cell, [cell.model_dump(mode="json") for cell in cells])
        announce(connection, "cells")


def list_campaigns(
    database: Engine, *, states: Collection[CampaignState] | None = None
) -> list[CampaignRow]:
    """All matrices, or those in `states`, oldest first."""
    matrix = schema.matrix
    query = sa.select(matrix).where(matrix.c.kind.is_(None)).order_by(matrix.c.campaign_id)
    if states is not None:
        query = query.where(schema.matrix.c.state.in_(sorted(states)))
    with one_statement(database) as connection:
        return [_campaign(row) for row in connection.execute(query).mappings()]


def load_campaign(database: Engine, campaign_id: str) -> CampaignRow:
    """The matrix with this id, also that of a run."""
    query = sa.select(schema.matrix).where(schema.matrix.c.campaign_id == campaign_id)
    with one_statement(database) as connection:
        return _campaign(connection.execute(query).mappings().one())


def find_matrix(database: Engine, campaign_id: str) -> CampaignRow | None:
    """The matrix with this id; None for that of a run, and where there is none."""
    known = schema.matrix.c
    query = sa.select(schema.matrix).where(known.campaign_id == campaign_id, known.kind.is_(None))
    with one_statement(database) as connection:
        row = connection.execute(query).mappings().one_or_none()
    return _campaign(row) if row is not None else None


def find_campaign(database: Engine, name: str | None) -> CampaignRow:
    """The newest matrix named `name`, else the one whose id begins with `name` (model/ids.py); the
    newest of all for None. Raises UnknownName, or InvalidValue for an empty name and for a
    beginning that several ids share."""
    known = list_campaigns(database)
    if name is None:
        if known:
            return known[-1]
        raise UnknownName(
            "matrix", "", (), advice="none was started; start one with 'diskbench matrix run FILE'"
        )
    named = [campaign for campaign in known if campaign.name == name]
    if named:
        return named[-1]
    ids = [
        Known(campaign.campaign_id, "matrix", where=f"{campaign.name}, {campaign.state}")
        for campaign in known
    ]
    campaign_id = meant(name, ids, "matrix", advice="see 'diskbench matrix status --all'").id
    return next(campaign for campaign in known if campaign.campaign_id == campaign_id)


def claim_campaign(database: Engine, campaign_id: str, *, owner: str, previous: str | None) -> bool:
    """Make `owner` the process that runs a matrix in the foreground, if `previous` is it now
    (compare and swap)."""
    matrix = schema.matrix
    expected = matrix.c.owner.is_(None) if previous is None else matrix.c.owner == previous
    with transaction(database) as connection:
        swapped = connection.execute(
            sa.update(matrix)
            .where(matrix.c.campaign_id == campaign_id, expected)
            .values(owner=owner)
        )
    return swapped.rowcount == 1


def set_campaign_state(database: Engine, campaign_id: str, state: CampaignState) -> None:
    """Set the state of a matrix, and the time of its end when it is done."""
    values: dict[str, Any] = {"state": state, "finished_at": present() if state == "done" else None}
    with transaction(database) as connection:
        connection.execute(
            sa.update(schema.matrix)
            .where(schema.matrix.c.campaign_id == campaign_id)
            .values(**values)
        )
        if state == "cancelling":
            announce(connection, "wish")
            announce(connection, "cells")


@dataclass(frozen=True)
class SharedMachines:
    """Which shared machines (reuse_host) waiting cells may use: one of `free` keeps its place, also
    where its region is full, and one that is `used` takes no cell. `alone`: only those that are
    free may take one, because every other place is taken."""

    free: frozenset[str] = frozenset()
    used: frozenset[str] = frozenset()
    alone: bool = False


NOT_SHARED = SharedMachines()
_READ_AT = "read_at"
_ENDING = 0x656E64696E67
"""The seed of the keys of PostgreSQL's advisory locks around the end of a matrix: "ending"."""


class Locked:
    """A matrix whose row this process has locked: no other process changes it meanwhile. With
    `looks` it is not locked, and changes are not written: `changed` says whether there were any."""

    def __init__(
        self, connection: Connection, campaign: CampaignRow, *, looks: bool = False
    ) -> None:
        self._connection, self.campaign, self._looks = connection, campaign, looks
        self.changed = False
        self.begun: list[str] = []
        """The trials of the cells that were let begin."""
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
        """How many cells of each block are in each state; counted by the database, since a matrix
        may have thousands of cells."""
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

    def waiting(
        self,
        *,
        after: int,
        most: int,
        but_in: Collection[str] = (),
        blocks: Collection[str] | None = None,
        shared: SharedMachines = NOT_SHARED,
    ) -> list[CellRow]:
        """The next `most` waiting cells after the position `after`, except those in the providers
        and regions `but_in` and those whose machine is `shared.used`; those of `blocks` only (None:
        of all)."""
        cell = schema.cell
        elsewhere = [
            sa.and_(
                cell.c.partition != name,
                ~cell.c.partition.startswith(f"{name}/", autoescape=True),
            )
            for name in sorted(but_in)
        ]
        conditions: list[sa.ColumnElement[bool]] = elsewhere
        if shared.free:
            on_free = cell.c.machine.in_(sorted(shared.free))
            conditions = [
                on_free if shared.alone else sa.or_(on_free, sa.and_(*elsewhere, sa.true()))
            ]
        if shared.used and not shared.alone:
            used = cell.c.machine.in_(sorted(shared.used))
            conditions.append(sa.or_(cell.c.machine.is_(None), ~used))
        if blocks is not None:
            conditions.append(cell.c.block.in_(sorted(blocks)))
        return self._cells(
            cell.c.state == "waiting", cell.c.position > after, *conditions, most=most
        )

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

    def _cells(self, *conditions: sa.ColumnElement[bool], most: int | None = None) -> list[CellRow]:
        cell = schema.cell
        query = (
            # The time comes with the cells: others wait for the lock during each round trip.
            sa.select(cell, present().label(_READ_AT))
            .where(cell.c.campaign_id == self.campaign.campaign_id, *conditions)
            .order_by(cell.c.position)
            .limit(most)
        )
        rows = [dict(row) for row in self._connection.execute(query).mappings()]
        times = [row.pop(_READ_AT) for row in rows]
        if times and self._read_at is None:
            self._read_at = datetime.fromisoformat(times[0])
        return [cell_row(row) for row in rows]

    def set_cell(self, position: int, **values: object) -> None:
        """Change one cell."""
        self.changed = True
        if self._looks:
            return
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
        if state == "running":
            announce(self._connection, "cells")


@contextmanager
def looked(database: Engine, campaign: CampaignRow) -> Iterator[Locked]:
    """A matrix that is only looked at: no lock is taken, and nothing is changed."""
    with one_statement(database) as connection:
        yield Locked(connection, campaign, looks=True)


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
        yield Locked(connection, _campaign(connection.execute(query).mappings().one()))


@contextmanager
def ending(database: Engine, campaign_id: str) -> Iterator[bool]:
    """Whether this process is the one that writes the end of a matrix until the block ends. SQLite
    lets all of them: each writes the same."""
    if database.dialect.name != "postgresql":
        yield True
        return
    key = sa.func.hashtextextended(campaign_id, _ENDING)
    with transaction(database) as connection:
        yield connection.execute(sa.select(sa.func.pg_try_advisory_xact_lock(key))).scalar_one()


@dataclass(frozen=True)
class MatrixTraits:
    """What never changes in a matrix: the `partitions` (provider and region) of its cells, and
    whether cells share machines (`reuse_host`)."""

    partitions: frozenset[str]
    shares_machines: bool


def traits_of(database: Engine, campaign_id: str) -> MatrixTraits:
    """The traits of a matrix, read from all its cells by one statement."""
    cell = schema.cell
    query = (
        sa.select(cell.c.partition, cell.c.machine.is_not(None))
        .where(cell.c.campaign_id == campaign_id)
        .distinct()
    )
    with one_statement(database) as connection:
        rows = connection.execute(query).all()
    return MatrixTraits(
        partitions=frozenset(partition for partition, _ in rows),
        shares_machines=any(has_machine for _, has_machine in rows),
    )


def routes_of_trials(database: Engine, trial_ids: Sequence[str]) -> dict[str, set[str]]:
    """The routes of the matrix of each trial; a trial without a matrix has no entry."""
    trial, cell = schema.trial, schema.cell
    query = (
        sa.select(trial.c.trial_id, cell.c.route)
        .join(cell, cell.c.campaign_id == trial.c.campaign_id)
        .where(trial.c.trial_id.in_(trial_ids))
        .distinct()
    )
    routes: dict[str, set[str]] = {}
    with one_statement(database) as connection:
        for trial_id, route in connection.execute(query):
            routes.setdefault(trial_id, set()).add(route)
    return routes


def _campaign(row: sa.RowMapping) -> CampaignRow:
    return CampaignRow.model_validate(dict(row))
