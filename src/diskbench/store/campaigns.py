"""Matrices that run. Their cells one by one are in cells.py."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from diskbench.errors import UnknownName
from diskbench.model.base import Frozen
from diskbench.model.campaign import LIVE, CampaignState, CellRow
from diskbench.model.ids import Known, meant
from diskbench.model.matrix import Limits
from diskbench.store import schema
from diskbench.store.cells import cell_row
from diskbench.store.clock import present, ulid_time
from diskbench.store.database import transaction
from diskbench.store.upsert import insert_missing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlalchemy.engine import Connection, Engine


class CampaignRow(Frozen):
    """One matrix that was begun. `queue` is the only queue its cells go to; None: one per route,
    which workers listen to. `owner` is the process in whose foreground it runs, `spec` the matrix
    as it was read."""

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


def save_campaign(database: Engine, campaign: CampaignRow, cells: Sequence[CellRow]) -> None:
    """A matrix and all its cells, before anything is rented; twice is as once."""
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


def list_campaigns(
    database: Engine, *, states: Collection[CampaignState] | None = None
) -> list[CampaignRow]:
    """All matrices, or those in `states`, oldest first."""
    query = sa.select(schema.matrix).order_by(schema.matrix.c.campaign_id)
    if states is not None:
        query = query.where(schema.matrix.c.state.in_(sorted(states)))
    with transaction(database) as connection:
        return [_campaign(row) for row in connection.execute(query).mappings()]


def find_campaign(database: Engine, name: str | None) -> CampaignRow:
    """The matrix whose id begins with `name` (model/ids.py), or the newest one that is named so;
    the newest of all for None. Raises UnknownName, or InvalidValue for an empty name and when
    several ids begin so."""
    known = list_campaigns(database)
    if name is None:
        if known:
            return known[-1]
        raise UnknownName(
            "matrix", "", (), advice="none was begun; start one with 'diskbench matrix run FILE'"
        )
    named = [one for one in known if one.name == name]
    if named:
        return named[-1]
    ids = [Known(one.campaign_id, "matrix", where=f"{one.name}, {one.state}") for one in known]
    found = meant(name, ids, "matrix", advice="see 'diskbench matrix status --all'").id
    return next(one for one in known if one.campaign_id == found)


def claim_campaign(database: Engine, campaign_id: str, *, owner: str, previous: str | None) -> bool:
    """Make `owner` the process in whose foreground a matrix runs, if `previous` is (compare and
    swap)."""
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
    """Move a matrix to `state`; one that is done says since when."""
    values: dict[str, Any] = {"state": state, "finished_at": present() if state == "done" else None}
    with transaction(database) as connection:
        connection.execute(
            sa.update(schema.matrix)
            .where(schema.matrix.c.campaign_id == campaign_id)
            .values(**values)
        )


class Locked:
    """A matrix that nobody else decides about while this is open."""

    def __init__(self, connection: Connection, campaign: CampaignRow) -> None:
        self._connection, self.campaign = connection, campaign

    def now(self) -> datetime:
        """The database's present, by which turns are given."""
        return datetime.fromisoformat(self._connection.execute(sa.select(present())).scalar_one())

    def cells(self) -> list[CellRow]:
        """The cells, in order."""
        return self._cells()

    def under_way(self, *, since: str, machines: Collection[str]) -> list[CellRow]:
        """The cells that are live, that got their turn after `since`, or share one of `machines`:
        what matters to those that wait. Of thousands it is a few."""
        cell = schema.cell
        return self._cells(
            sa.or_(
                cell.c.state.in_(sorted(LIVE)),
                cell.c.queued_at > since,
                cell.c.machine.in_(sorted(machines)),
            )
        )

    def waiting(self, *, after: int, most: int, but_in: Collection[str] = ()) -> list[CellRow]:
        """The next `most` cells that wait, behind the position `after`, but none in these
        providers and regions."""
        cell = schema.cell
        elsewhere = [
            sa.and_(
                cell.c.partition != name,
                ~cell.c.partition.startswith(f"{name}/", autoescape=True),
            )
            for name in sorted(but_in)
        ]
        return self._cells(
            cell.c.state == "waiting", cell.c.position > after, *elsewhere, most=most
        )

    def is_over(self) -> bool:
        """Whether every cell ended."""
        cell = schema.cell
        query = sa.select(sa.func.count()).where(
            cell.c.campaign_id == self.campaign.campaign_id, cell.c.finished_at.is_(None)
        )
        return self._connection.execute(query).scalar_one() == 0

    def _cells(self, *conditions: sa.ColumnElement[bool], most: int | None = None) -> list[CellRow]:
        cell = schema.cell
        query = (
            sa.select(cell)
            .where(cell.c.campaign_id == self.campaign.campaign_id, *conditions)
            .order_by(cell.c.position)
            .limit(most)
        )
        return [cell_row(row) for row in self._connection.execute(query).mappings()]

    def set_cell(self, position: int, **values: object) -> None:
        """Change one cell."""
        cell = schema.cell
        self._connection.execute(
            sa.update(cell)
            .where(cell.c.campaign_id == self.campaign.campaign_id, cell.c.position == position)
            .values(**values)
        )

    def set_state(self, state: CampaignState, *, at: str | None = None) -> None:
        """Move the matrix itself; one that is done is since `at`, or now."""
        matrix = schema.matrix
        self._connection.execute(
            sa.update(matrix)
            .where(matrix.c.campaign_id == self.campaign.campaign_id)
            .values(state=state, finished_at=(at or present()) if state == "done" else None)
        )


@contextmanager
def locked(database: Engine, campaign_id: str) -> Iterator[Locked]:
    """Decide about a matrix alone. The first thing done is a write, which locks the row on
    PostgreSQL and the whole database on SQLite until the block ends."""
    matrix = schema.matrix
    mine = matrix.c.campaign_id == campaign_id
    with transaction(database) as connection:
        connection.execute(sa.update(matrix).where(mine).values(state=matrix.c.state))
        row = connection.execute(sa.select(matrix).where(mine)).mappings().one()
        yield Locked(connection, _campaign(row))


def routes_of_trials(database: Engine, trial_ids: Sequence[str]) -> dict[str, set[str]]:
    """The routes of the matrices that trials belong to; a trial of no matrix has none."""
    trial, cell = schema.trial, schema.cell
    query = (
        sa.select(trial.c.trial_id, cell.c.route)
        .join(cell, cell.c.campaign_id == trial.c.campaign_id)
        .where(trial.c.trial_id.in_(trial_ids))
        .distinct()
    )
    found: dict[str, set[str]] = {}
    with transaction(database) as connection:
        for trial_id, route in connection.execute(query):
            found.setdefault(trial_id, set()).add(route)
    return found


def matrix_of_trial(database: Engine, trial_id: str) -> CampaignRow | None:
    """The matrix that a trial is an attempt of; None for a trial of no matrix."""
    matrix, trial = schema.matrix, schema.trial
    query = (
        sa.select(matrix)
        .join(trial, trial.c.campaign_id == matrix.c.campaign_id)
        .where(trial.c.trial_id == trial_id)
    )
    with transaction(database) as connection:
        row = connection.execute(query).mappings().one_or_none()
    return _campaign(row) if row else None


def trials_of_matrices(database: Engine) -> set[str]:
    """The trials that are attempts of a matrix's cells and not over."""
    matrix, trial, claim = schema.matrix, schema.trial, schema.claim
    query = (
        sa.select(claim.c.trial_id)
        .join(trial, trial.c.trial_id == claim.c.trial_id)
        .join(matrix, matrix.c.campaign_id == trial.c.campaign_id)
    )
    with transaction(database) as connection:
        return set(connection.execute(query).scalars())


def _campaign(row: sa.RowMapping) -> CampaignRow:
    return CampaignRow.model_validate(dict(row))
