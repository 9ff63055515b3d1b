"""All result rows of a database, for comparing two: a rebuild must end with the same."""

import sqlalchemy as sa

from diskbench.store.database import transaction
from diskbench.store.schema import measurement, run, step, trial, warning


def dump(database):
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
