"""The cells of matrices and of runs: the state and the owner of each.

`diskbench run` is a matrix of kind `run` with a cell for each of its trials. Nobody sees it as a
matrix: its rows say only who works on it and whether it should stop. A cell of it is deleted when
it has ended and everything of its trial is given back, and the matrix with its last cell. What was
measured is in the rows of trials and runs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from diskbench.model.campaign import LIVE, CellRow, CellState
from diskbench.model.spec import Plan
from diskbench.store import schema
from diskbench.store.clock import present
from diskbench.store.database import change, fetch_as, transaction
from diskbench.store.upsert import insert_missing


def load_cells(database: Engine, campaign_id: str) -> list[CellRow]:
    """All cells of a matrix, in order."""
    cell = schema.cell.c
    return _cells(database, cell.campaign_id == campaign_id)


def cells_of_machine(database: Engine, campaign_id: str, name: str) -> list[CellRow]:
    """The cells of a matrix that share the machine of this name, in order."""
    cell = schema.cell.c
    return _cells(database, cell.campaign_id == campaign_id, cell.machine == name)


def cell_of_trial(database: Engine, trial_id: str) -> CellRow | None:
    """The cell whose newest attempt is `trial_id`; None for a trial of no matrix."""
    return next(iter(_cells(database, schema.cell.c.trial_id == trial_id)), None)


def matrix_cell_of_trial(database: Engine, trial_id: str) -> CellRow | None:
    """`cell_of_trial` where the cell is that of a matrix; None for the cell of a run."""
    cell = schema.cell.c
    return next(iter(_cells(database, cell.trial_id == trial_id, _of_matrix())), None)


def live_cells(database: Engine) -> list[CellRow]:
    """The cells of all matrices and runs that are queued or that a process has taken."""
    return _cells(database, schema.cell.c.state.in_(sorted(LIVE)))


def unfinished_cells(database: Engine) -> list[CellRow]:
    """The unfinished cells of all matrices, in the order of matrices and cells; those of runs are
    left out."""
    return _cells(database, schema.cell.c.finished_at.is_(None), _of_matrix())


def run_cells(database: Engine) -> list[CellRow]:
    """The cells of all runs that have not ended, oldest first."""
    return sorted(_cells(database, ~_of_matrix()), key=lambda cell: cell.trial_id or "")


def _cells(database: Engine, *conditions: sa.ColumnElement[bool]) -> list[CellRow]:
    """The cells that meet all `conditions`, in the order of matrices and cells."""
    cell = schema.cell.c
    query = sa.select(schema.cell).where(*conditions).order_by(cell.campaign_id, cell.position)
    return fetch_as(database, CellRow, query)


def _of_matrix() -> sa.ColumnElement[bool]:
    """The condition that a cell is not that of a run."""
    return schema.cell.c.campaign_id.not_in(_runs())


def update_cell(
    database: Engine,
    trial_id: str,
    *,
    states: Collection[CellState] | None = None,
    **values: object,
) -> bool:
    """Change the cell whose newest attempt is `trial_id`, if it is in one of `states`."""
    cell = schema.cell
    update = sa.update(cell).where(cell.c.trial_id == trial_id).values(**values)
    if states is not None:
        update = update.where(cell.c.state.in_(sorted(states)))
    return change(database, update) == 1


def claim_cell(database: Engine, trial_id: str, *, owner: str, previous: str | None) -> bool:
    """Make `owner` the owner of a cell if `previous` is it now (compare and swap); the cell has
    started when its first owner has it. True when `owner` owns the cell afterwards, also when it
    did before."""
    cell = schema.cell
    expected = cell.c.owner.is_(None) if previous is None else cell.c.owner == previous
    mine = cell.c.trial_id == trial_id, sa.or_(expected, cell.c.owner == owner)
    swap = sa.update(cell).where(*mine, cell.c.state.in_(sorted(LIVE)))
    started = sa.func.coalesce(cell.c.started_at, present())
    return change(database, swap.values(owner=owner, started_at=started)) == 1


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
    matrix: dict[str, object] = {"campaign_id": campaign_id, "name": RUN, "kind": RUN}
    matrix |= {"state": "running", "order": "listed", "limits": {}, "spec": {}, "created_at": began}
    insert_missing(connection, schema.matrix, [matrix])
    first = max(positions.values(), default=-1) + 1
    rows = [
        _run_cell(plan, position, owner, began).model_dump(mode="json")
        for position, plan in enumerate(new, first)
    ]
    insert_missing(connection, cell, rows)


def _run_cell(plan: Plan, position: int, owner: str | None, began: str) -> CellRow:
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


def end_run_cell(database: Engine, trial_id: str) -> None:
    """Delete the cell of a trial whose run has ended, and the run's matrix with its last cell; does
    nothing for the cell of a matrix."""
    cell, matrix = schema.cell, schema.matrix
    mine = cell.c.trial_id == trial_id, cell.c.campaign_id.in_(_runs())
    with transaction(database) as connection:
        connection.execute(sa.delete(cell).where(*mine))
        other_cells = sa.select(cell.c.position).where(cell.c.campaign_id == matrix.c.campaign_id)
        connection.execute(sa.delete(matrix).where(matrix.c.kind == RUN, ~other_cells.exists()))


def _runs() -> sa.Select[tuple[str]]:
    matrix = schema.matrix
    return sa.select(matrix.c.campaign_id).where(matrix.c.kind == RUN)
