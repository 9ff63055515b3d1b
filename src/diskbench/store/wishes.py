"""Requests to a process to stop a trial, a cell, or every cell of a matrix.

A request is stored in one row: `cell.cancel` of a cell (a trial of `diskbench run` is one, too), or
`matrix.state` of a matrix. The process that owns the cells reads both at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from diskbench.model.campaign import LIVE
from diskbench.store import schema
from diskbench.store.database import transaction

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine


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
    with transaction(database) as connection:
        return frozenset(connection.execute(asked).scalars())
