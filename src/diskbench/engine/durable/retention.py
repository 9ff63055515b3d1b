"""Removal of the workflows of cells that ended: nobody reads them again, and DBOS keeps them."""

from __future__ import annotations

from datetime import timedelta

import sqlalchemy as sa

from diskbench.engine.durable.schedules import APPLICATION, client_of
from diskbench.store.clock import database_time
from diskbench.store.moments import iso

KEPT = timedelta(minutes=10)
"""How long a workflow that ended is kept: a process that took a cell over asks DBOS ten times a
second whether it ended. Our choice."""
_AT_ONCE = 500
_OVER = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]


def forget_ended(database: sa.Engine, *, kept: timedelta = KEPT) -> int:
    """Remove workflows of cells that ended longer than `kept` ago, the oldest first; returns how
    many. Safe in several processes at once. Raises StoreUnavailable."""
    with client_of(database) as client:
        ended = client.list_workflows(
            name="cell",
            status=_OVER,
            completed_before=iso(database_time(database) - kept),
            application_name=APPLICATION,
            limit=_AT_ONCE,
            load_input=False,
            load_output=False,
        )
        client.delete_workflows([workflow.workflow_id for workflow in ended])
    return len(ended)
