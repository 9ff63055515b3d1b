"""All result rows of a database, for comparing two: a rebuild must end with the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from diskbench.store.database import transaction
from diskbench.store.schema import measurement, run, step, trial, warning

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine


def dump(database: Engine) -> dict[str, list[dict[str, Any]]]:
    """Table name → its rows, ordered by primary key."""
    with transaction(database) as connection:
        return {
            table.name: [
                dict(row)
                for row in connection.execute(
                    sa.select(table).order_by(*table.primary_key.columns)
                ).mappings()
            ]
            for table in (trial, run, step, measurement, warning)
        }
