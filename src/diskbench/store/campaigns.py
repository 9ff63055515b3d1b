"""Rows of matrices, and the wishes to stop them or their cells. Functions for single cells are in
cells.py."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from diskbench.errors import Interrupted, UnknownName
from diskbench.model.base import Frozen
from diskbench.model.campaign import LIVE, CampaignState, CellRow, error_columns
from diskbench.model.ids import Known, meant
from diskbench.model.matrix import Limits
from diskbench.model.outcome import Problem
from diskbench.store import schema
from diskbench.store.cells import update_cell
from diskbench.store.clock import present
from diskbench.store.database import change, fetch, fetch_as, transaction
from diskbench.store.upsert import insert_missing


class CampaignRow(Frozen):
    """One started matrix. `queue` is the only queue of its cells; None: one queue per route, which
    workers listen to. `owner` is the process that runs it in the foreground, `spec` the matrix as
    it was read. `kind` is `run` for the matrix that `diskbench run` makes of its trials
    (store/cells.py), which no function of this module returns except `load_campaign`."""

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
    with transaction(database) as connection:
        began = campaign.created_at or connection.execute(sa.select(present())).scalar_one()
        row = campaign.model_dump(mode="json") | {"created_at": began}
        insert_missing(connection, schema.matrix, [row])
        insert_missing(connection, schema.cell, [cell.model_dump(mode="json") for cell in cells])


def list_campaigns(
    database: Engine, *, states: Collection[CampaignState] | None = None
) -> list[CampaignRow]:
    """All matrices, or those in `states`, oldest first."""
    matrix = schema.matrix.c
    wanted = sa.true() if states is None else matrix.state.in_(sorted(states))
    return _campaigns(database, matrix.kind.is_(None), wanted)


def load_campaign(database: Engine, campaign_id: str) -> CampaignRow:
    """The matrix with this id, also that of a run."""
    (campaign,) = _campaigns(database, schema.matrix.c.campaign_id == campaign_id)
    return campaign


def find_matrix(database: Engine, campaign_id: str) -> CampaignRow | None:
    """The matrix with this id; None for that of a run, and where there is none."""
    matrix = schema.matrix.c
    found = _campaigns(database, matrix.campaign_id == campaign_id, matrix.kind.is_(None))
    return next(iter(found), None)


def _campaigns(database: Engine, *conditions: sa.ColumnElement[bool]) -> list[CampaignRow]:
    """The matrices that meet all `conditions`, oldest first."""
    query = sa.select(schema.matrix).where(*conditions).order_by(schema.matrix.c.campaign_id)
    return fetch_as(database, CampaignRow, query)


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
    by_id = {campaign.campaign_id: campaign for campaign in known}
    ids = [Known(key, "matrix", where=f"{one.name}, {one.state}") for key, one in by_id.items()]
    return by_id[meant(name, ids, "matrix", advice="see 'diskbench matrix status --all'").id]


def claim_campaign(database: Engine, campaign_id: str, *, owner: str, previous: str | None) -> bool:
    """Make `owner` the process that runs a matrix in the foreground, if `previous` is it now
    (compare and swap)."""
    matrix = schema.matrix
    expected = matrix.c.owner.is_(None) if previous is None else matrix.c.owner == previous
    mine = matrix.c.campaign_id == campaign_id
    return change(database, sa.update(matrix).where(mine, expected).values(owner=owner)) == 1


def routes_of_trials(database: Engine, trial_ids: Sequence[str]) -> dict[str, set[str]]:
    """The routes of the matrix of each trial; a trial without a matrix has no entry."""
    trial, cell = schema.trial, schema.cell
    query = sa.select(trial.c.trial_id, cell.c.route).where(trial.c.trial_id.in_(trial_ids))
    query = query.join(cell, cell.c.campaign_id == trial.c.campaign_id)
    routes: dict[str, set[str]] = {}
    for trial_id, route in fetch(database, query.distinct()):
        routes.setdefault(trial_id, set()).add(route)
    return routes


def asked_to_stop(database: Engine, owner: str) -> frozenset[str]:
    """The trials of the process `owner` that somebody asked to stop."""
    cell, matrix = schema.cell, schema.matrix
    at_work = cell.c.owner == owner, cell.c.trial_id.is_not(None), cell.c.state.in_(sorted(LIVE))
    is_asked = sa.or_(cell.c.cancel.is_(True), matrix.c.state == "cancelling")
    query = sa.select(cell.c.trial_id).join(matrix, matrix.c.campaign_id == cell.c.campaign_id)
    asked = fetch(database, query.where(*at_work, is_asked))
    return frozenset(trial_id for (trial_id,) in asked)


def request_cancel(database: Engine, trial_id: str) -> bool:
    """Ask the process that owns a cell to stop it; False when the cell has another attempt, or is
    gone."""
    return update_cell(database, trial_id, cancel=True)


def request_end(database: Engine, campaign_id: str) -> None:
    """Ask the processes that run a matrix to stop every cell, and admit no further cell."""
    mine = sa.update(schema.matrix).where(schema.matrix.c.campaign_id == campaign_id)
    change(database, mine.values(state="cancelling", finished_at=None))


def cancel_untaken_cell(database: Engine, row: CellRow) -> bool:
    """Cancel a cell that no process owns and whose attempt is still that of `row`; True if done."""
    cell, code = schema.cell, Interrupted.exit_code
    problem = Problem(kind="Cancelled", message="stopped by the user", exit_code=code)
    untaken = (
        *(cell.c[name] == getattr(row, name) for name in ("campaign_id", "position", "attempt")),
        cell.c.state.in_(("waiting", "queued")),
        cell.c.owner.is_(None),
    )
    ended = sa.update(cell).where(*untaken).values(state="cancelled", cancel=True)
    ended = ended.values(finished_at=present(), **error_columns(problem))
    return change(database, ended) == 1
