"""The rows of `diskbench run`: a matrix of kind `run` with a cell for each trial, while they last.

The rows of a matrix are kept as its record. Those of a run say only who works on it and whether it
should stop: a cell is deleted when it has ended and everything of its trial is given back, and the
matrix with its last cell. What was measured is in the rows of trials and runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from diskbench.model.campaign import CellRow
from diskbench.model.spec import Plan
from diskbench.store import schema
from diskbench.store.cells import cell_row
from diskbench.store.clock import present
from diskbench.store.database import one_statement, transaction
from diskbench.store.upsert import insert_missing

RUN = "run"
"""The kind of the matrix of a run; None is that of a matrix."""


def is_of_matrix(connection: Connection, campaign_id: str) -> bool:
    """Whether a campaign is that of a matrix, whose cells are written before any trial."""
    kind = sa.select(schema.matrix.c.kind).where(schema.matrix.c.campaign_id == campaign_id)
    return bool(connection.execute(kind).scalars().all() == [None])


def insert_run_cells(connection: Connection, plans: Sequence[Plan], owner: str | None) -> None:
    """Write the cells of the trials of one run, owned by `owner`; does nothing for those that have
    their cell."""
    cell, campaign_id = schema.cell, plans[0].campaign_id
    known = sa.select(cell.c.trial_id, cell.c.position).where(cell.c.campaign_id == campaign_id)
    positions = {row.trial_id: row.position for row in connection.execute(known)}
    new = [plan for plan in plans if plan.trial_id not in positions]
    if not new:
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
    first = max(positions.values(), default=-1) + 1
    rows = [
        _cell_of(plan, position, owner, began).model_dump(mode="json")
        for position, plan in enumerate(new, first)
    ]
    insert_missing(connection, cell, rows)


def _cell_of(plan: Plan, position: int, owner: str | None, began: str) -> CellRow:
    """The cell of a trial of a run at `position`, which began at `began` (ISO 8601)."""
    name = f"{plan.cell.provider}/{plan.profile.name}"
    return CellRow(
        campaign_id=plan.campaign_id,
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


def run_cells(database: Engine) -> list[CellRow]:
    """The cells of all runs that have not ended, oldest first."""
    cell = schema.cell
    query = sa.select(cell).where(cell.c.campaign_id.in_(_runs())).order_by(cell.c.trial_id)
    with one_statement(database) as connection:
        return [cell_row(row) for row in connection.execute(query).mappings()]


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
