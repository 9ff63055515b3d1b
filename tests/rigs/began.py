"""Runs that begin at the moment of their plan, which is in their ULID, whenever the test runs."""

import sqlalchemy as sa

from diskbench.store import rows
from diskbench.store.database import transaction
from diskbench.store.schema import run


def begin_run(database, run_id):
    """As rows.begin_run, with the date of its plan."""
    rows.begin_run(database, run_id)
    with transaction(database) as connection:
        connection.execute(
            sa.update(run)
            .where(run.c.run_id == run_id)
            .values(started_at=run.c.created_at, measured_at=run.c.created_at)
        )
