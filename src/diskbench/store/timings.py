"""Where the time of a trial went, step by step of the way; it is no result and not in evidence."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from diskbench.store import schema
from diskbench.store.database import one_statement, transaction
from diskbench.store.upsert import upsert


def add_timing(database: Engine, trial_id: str, seconds: Mapping[str, float]) -> None:
    """Add what a process spent on a trial to what others spent on it before."""
    known = load_timing(database, trial_id)
    rows = [
        {
            "trial_id": trial_id,
            "name": name,
            "position": list(known).index(name) if name in known else len(known) + position,
            "seconds": known.get(name, 0.0) + spent,
        }
        for position, (name, spent) in enumerate(seconds.items())
    ]
    with transaction(database) as connection:
        upsert(connection, schema.timing, rows)


def load_timing(database: Engine, trial_id: str) -> dict[str, float]:
    """Wall seconds by name, in the order of the way; empty where none was kept."""
    timing = schema.timing
    query = (
        sa.select(timing.c.name, timing.c.seconds)
        .where(timing.c.trial_id == trial_id)
        .order_by(timing.c.position)
    )
    with one_statement(database) as connection:
        return {row.name: row.seconds for row in connection.execute(query)}
