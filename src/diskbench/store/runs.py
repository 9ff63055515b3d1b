"""The rows of `diskbench run`: a matrix of kind `run` with a cell for each trial, while they last.

The rows of a matrix are kept as its record. Those of a run say only who works on it and whether it
should stop: a cell is deleted when it has ended and everything of its trial is given back, and the
matrix with its last cell. What was measured is in the rows of trials and runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from diskbench.model.campaign import CellRow
from diskbench.store import schema
from diskbench.store.cells import cell_row
from diskbench.store.clock import present
from diskbench.store.database import one_statement, transaction
from diskbench.store.upsert import insert_missing

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine

    from diskbench.model.spec import Plan

RUN = "run"
"""The kind of the matrix of a run; None is that of a matrix."""


def is_of_matrix(connection: Connection, campaign_id: str) -> bool:
    """Whether a campaign is that of a matrix, whose cells are written before any trial."""
    kind = sa.select(schema.matrix.c.kind).where(schema.matrix.c.campaign_id == campaign_id)
    return bool(connection.execute(kind).scalars().all() == [None])


def insert_run_cell(connection: Connection, plan: Plan, owner: str | None) -> None:
    """Write the cell of a trial of a run, owned by `owner`; does nothing for a trial that has its
    cell."""
    cell, campaign_id = schema.cell, plan.campaign_id
    mine = sa.select(cell.c.position).where(cell.c.trial_id == plan.trial_id)
    if connection.execute(mine).first() is not None:
        return
    began = connection.execute(sa.select(present())).scalar_one()
    matrix = {
        "campaign_id": campaign_id,
        "name": RUN,
        "kind": RUN,
        "state": "running",
        "order": "listed",
        "limits": {},
        "spec": {},
        "created_at": began,
    }
    insert_missing(connection, schema.matrix, [matrix])
    last = sa.select(sa.func.max(cell.c.position)).where(cell.c.campaign_id == campaign_id)
    before = connection.execute(last).scalar_one_or_none()
    position = 0 if before is None else before + 1
    name = f"{plan.cell.provider}/{plan.profile.name}"
    row = CellRow(
        campaign_id=campaign_id,
        position=position,
        key=f"{name}#{position}",
        block=name,
        route=plan.cell.provider,
        partition=plan.cell.provider,
        cell=plan.cell,
        state="renting" if plan.is_draft else "measuring",
        attempt=1,
        trial_id=plan.trial_id,
        owner=owner,
        queued_at=began,
        started_at=began,
    )
    insert_missing(connection, cell, [row.model_dump(mode="json")])


def run_cells(database: Engine) -> list[CellRow]:
    """The cells of all runs that have not ended, oldest first."""
    cell = schema.cell
    query = sa.select(cell).where(cell.c.campaign_id.in_(_runs())).order_by(cell.c.trial_id)
    with one_statement(database) as connection:
        return [cell_row(row) for row in connection.execute(query).mappings()]


def is_run(database: Engine, campaign_id: str) -> bool:
    """Whether the matrix is that of a run."""
    query = _runs().where(schema.matrix.c.campaign_id == campaign_id)
    with one_statement(database) as connection:
        return connection.execute(query).first() is not None


def end_run_cell(database: Engine, trial_id: str) -> None:
    """Delete the cell of a trial whose run has ended, and the run's matrix with its last cell; does
    nothing for the cell of a matrix."""
    cell, matrix = schema.cell, schema.matrix
    with transaction(database) as connection:
        connection.execute(
            sa.delete(cell).where(cell.c.trial_id == trial_id, cell.c.campaign_id.in_(_runs()))
        )
        other_cells = sa.select(cell.c.position).where(cell.c.campaign_id == matrix.c.campaign_id)
        connection.execute(sa.delete(matrix).where(matrix.c.kind == RUN, ~other_cells.exists()))


def _runs() -> sa.Select[tuple[str]]:
    matrix = schema.matrix
    return sa.select(matrix.c.campaign_id).where(matrix.c.kind == RUN)
