"""Requests to stop a trial, a cell, or every cell of a matrix: written and read here alone.

A request is stored in one row: `cell.cancel` of a cell (a trial of `diskbench run` is one, too), or
`matrix.state` of a matrix. The process that owns the cells reads both at once.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from diskbench.errors import Interrupted
from diskbench.model.campaign import LIVE, CellRow, error_columns
from diskbench.model.outcome import Problem
from diskbench.store import schema
from diskbench.store.campaigns import set_campaign_state
from diskbench.store.cells import update_cell
from diskbench.store.clock import present
from diskbench.store.database import one_statement, transaction
from diskbench.store.notices import announce, announce_now


def asked_to_stop(database: Engine, owner: str) -> frozenset[str]:
    """The trials of the process `owner` that somebody asked to stop."""
    cell, matrix = schema.cell, schema.matrix
    asked = (
        sa.select(cell.c.trial_id)
        .join(matrix, matrix.c.campaign_id == cell.c.campaign_id)
        .where(
            cell.c.owner == owner,
            cell.c.trial_id.is_not(None),
            cell.c.state.in_(sorted(LIVE)),
            sa.or_(cell.c.cancel.is_(True), matrix.c.state == "cancelling"),
        )
    )
    with one_statement(database) as connection:
        return frozenset(connection.execute(asked).scalars())


def request_cancel(database: Engine, trial_id: str) -> bool:
    """Ask the process that owns a cell to stop it; False when the cell has another attempt, or is
    gone."""
    asked = update_cell(database, trial_id, cancel=True)
    announce_now(database, "wish")
    return asked


def request_end(database: Engine, campaign_id: str) -> None:
    """Ask the processes that run a matrix to stop every cell, and admit no further cell."""
    set_campaign_state(database, campaign_id, "cancelling")


_CANCELLED = Problem(
    kind="Cancelled", message="stopped by the user", exit_code=Interrupted.exit_code
)


def cancel_untaken_cell(database: Engine, row: CellRow) -> bool:
    """Cancel a cell that no process owns and whose attempt is still that of `row`; True if done."""
    cell = schema.cell
    untaken = sa.and_(cell.c.state.in_(("waiting", "queued")), cell.c.owner.is_(None))
    ended = (
        sa.update(cell)
        .where(
            cell.c.campaign_id == row.campaign_id,
            cell.c.position == row.position,
            cell.c.attempt == row.attempt,
            untaken,
        )
        .values(
            state="cancelled",
            cancel=True,
            finished_at=present(),
            **error_columns(_CANCELLED),
        )
    )
    with transaction(database) as connection:
        done = connection.execute(ended).rowcount == 1
        announce(connection, "cells")
    return done
