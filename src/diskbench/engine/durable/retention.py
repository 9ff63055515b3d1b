"""Removal of the workflows of cells that ended: nobody reads them again.

A workflow's rows are larger than the figures of a small cell, and DBOS keeps them for ever. Removed
are those that are over, that were over for a while, and whose cell is settled. A workflow that
waits, runs or is suspended is never removed: the cell is continued by it. Nor is one that ended
while its cell is still live: the process that settles the cell reads how it ended.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from diskbench.engine.durable.schedules import APPLICATION, client_of
from diskbench.store.cells import live_cells
from diskbench.store.clock import database_time
from diskbench.store.moments import iso

if TYPE_CHECKING:
    import sqlalchemy as sa
    from dbos import DBOSClient

KEPT = timedelta(minutes=10)
"""How long a workflow that ended is kept: a process that took a cell over asks DBOS ten times a
second whether it ended. Our choice."""
AT_ONCE = 500
"""The most workflows that are removed in one transaction; our choice."""
_OVER = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]


def forget_ended(database: sa.Engine, *, kept: timedelta = KEPT) -> int:
    """Remove the workflows of settled cells that ended longer than `kept` ago; returns how many.
    Safe in several processes at once, also while DBOS rests; called after the first launch. Raises
    StoreUnavailable."""
    with client_of(database) as client:
        removed = 0
        before = iso(database_time(database) - kept)
        while ended := _ended(client, database, before):
            client.delete_workflows(ended)
            removed += len(ended)
            if len(ended) < AT_ONCE:
                break
        return removed


def _ended(client: DBOSClient, database: sa.Engine, before: str) -> list[str]:
    """Ids of cells whose workflows ended before a time, oldest first."""
    workflows = client.list_workflows(
        name="cell",
        status=_OVER,
        completed_before=before,
        application_name=APPLICATION,
        limit=AT_ONCE,
        load_input=False,
        load_output=False,
    )
    # Read afterwards: a cell whose workflow is over never becomes live again under the same trial.
    live = {cell.trial_id for cell in live_cells(database)} if workflows else set[str | None]()
    ids = [workflow.workflow_id for workflow in workflows]
    return [workflow_id for workflow_id in ids if workflow_id not in live]
