"""The cells of matrices and of runs: the state and the owner of each.

A run is a matrix of kind `run` with a cell for each of its trials. Nobody sees it as a matrix, and
its rows are deleted when its cells end (runs.py).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from diskbench.model.campaign import LIVE, CellRow, CellState
from diskbench.store import schema
from diskbench.store.clock import present
from diskbench.store.database import one_statement


def load_cells(database: Engine, campaign_id: str) -> list[CellRow]:
    """All cells of a matrix, in order; a command that shows some reads these (shown_cells.py)."""
    cell = schema.cell
    query = sa.select(cell).where(cell.c.campaign_id == campaign_id).order_by(cell.c.position)
    with one_statement(database) as connection:
        return [cell_row(row) for row in connection.execute(query).mappings()]


def cell_of_trial(database: Engine, trial_id: str) -> CellRow | None:
    """The cell whose newest attempt is `trial_id`; None for a trial of no matrix."""
    query = sa.select(schema.cell).where(schema.cell.c.trial_id == trial_id)
    with one_statement(database) as connection:
        row = connection.execute(query).mappings().one_or_none()
    return cell_row(row) if row else None


def matrix_cell_of_trial(database: Engine, trial_id: str) -> CellRow | None:
    """`cell_of_trial` where the cell is that of a matrix; None for the cell of a run."""
    cell, matrix = schema.cell, schema.matrix
    query = (
        sa.select(cell)
        .join(matrix, matrix.c.campaign_id == cell.c.campaign_id)
        .where(cell.c.trial_id == trial_id, matrix.c.kind.is_(None))
    )
    with one_statement(database) as connection:
        row = connection.execute(query).mappings().one_or_none()
    return cell_row(row) if row else None


def live_cells(database: Engine) -> list[CellRow]:
    """The cells of all matrices and runs that are queued or that a process has taken."""
    query = sa.select(schema.cell).where(schema.cell.c.state.in_(sorted(LIVE)))
    with one_statement(database) as connection:
        return [cell_row(row) for row in connection.execute(query).mappings()]


def owned_cells(database: Engine) -> list[CellRow]:
    """The cells of all matrices that a process has taken, in the order of matrices and cells; those
    of runs are left out."""
    cell, matrix = schema.cell, schema.matrix
    query = (
        sa.select(cell)
        .join(matrix, matrix.c.campaign_id == cell.c.campaign_id)
        .where(cell.c.state.in_(sorted(LIVE)), cell.c.owner.is_not(None), matrix.c.kind.is_(None))
        .order_by(cell.c.campaign_id, cell.c.position)
    )
    with one_statement(database) as connection:
        return [cell_row(row) for row in connection.execute(query).mappings()]


class UnfinishedCell(NamedTuple):
    """The names of a cell that has not ended."""

    campaign_id: str
    position: int
    key: str
    trial_id: str | None

    @property
    def id(self) -> str:
        """The id that commands print: the trial's, before the first attempt MATRIX/POSITION."""
        return self.trial_id or f"{self.campaign_id}/{self.position}"


def unfinished_cells(database: Engine) -> list[UnfinishedCell]:
    """The unfinished cells of all matrices, in the order of matrices and cells; those of runs are
    left out."""
    cell, matrix = schema.cell, schema.matrix
    query = (
        sa.select(cell.c.campaign_id, cell.c.position, cell.c.key, cell.c.trial_id)
        .join(matrix, matrix.c.campaign_id == cell.c.campaign_id)
        .where(cell.c.finished_at.is_(None), matrix.c.kind.is_(None))
        .order_by(cell.c.campaign_id, cell.c.position)
    )
    with one_statement(database) as connection:
        return [UnfinishedCell(*row) for row in connection.execute(query)]


def update_cell(
    database: Engine,
    trial_id: str,
    *,
    states: Collection[CellState] | None = None,
    **values: object,
) -> bool:
    """Change the cell whose newest attempt is `trial_id`, if it is in one of `states`."""
    cell = schema.cell
    change = sa.update(cell).where(cell.c.trial_id == trial_id).values(**values)
    if states is not None:
        change = change.where(cell.c.state.in_(sorted(states)))
    with one_statement(database) as connection:
        return connection.execute(change).rowcount == 1


def claim_cell(database: Engine, trial_id: str, *, owner: str, previous: str | None) -> bool:
    """Make `owner` the owner of a cell if `previous` is it now (compare and swap); the cell has
    started when its first owner has it. True when `owner` owns the cell afterwards, also when it
    did before."""
    cell = schema.cell
    expected = cell.c.owner.is_(None) if previous is None else cell.c.owner == previous
    with one_statement(database) as connection:
        swapped = connection.execute(
            sa.update(cell)
            .where(
                cell.c.trial_id == trial_id,
                cell.c.state.in_(sorted(LIVE)),
                sa.or_(expected, cell.c.owner == owner),
            )
            .values(owner=owner, started_at=sa.func.coalesce(cell.c.started_at, present()))
        )
    return swapped.rowcount == 1


def cell_row(row: Mapping[Any, Any]) -> CellRow:
    """A CellRow from a row of the table."""
    return CellRow.model_validate(dict(row))
