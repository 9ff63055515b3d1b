"""What was rented for each run, as a polars frame: from the plans, without reading all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

if TYPE_CHECKING:
    import polars as pl

_PATHS: dict[str, tuple[str, ...]] = {
    "region": ("scope", "region"),
    "disk_cloud": ("cloud",),
    "disk_type": ("disk", "type"),
    "disk_gib": ("disk", "size_gib"),
    "disk_count": ("disk", "count"),
    "provisioned_iops": ("disk", "iops"),
    "host_cache": ("spec", "azure", "cache"),
}
_WHOLE = ("disk_gib", "disk_count", "provisioned_iops")


def rented_frame(database: str) -> pl.DataFrame:
    """One row a run; all null but its id where the machine was there or nothing of it is known."""
    import polars as pl

    from diskbench.store.database import open_database, transaction
    from diskbench.store.schema import run, trial

    rental = trial.c.plan["rental"]
    query = sa.select(
        run.c.run_id,
        *(_at(rental, name).label(name) for name in _PATHS),
    ).join(trial, trial.c.trial_id == run.c.trial_id)
    engine = open_database(database)
    try:
        with transaction(engine) as connection:
            rows = [tuple(row) for row in connection.execute(query)]
    finally:
        engine.dispose()
    kinds = {name: pl.Int64 if name in _WHOLE else pl.String for name in _PATHS}
    return pl.DataFrame(rows, schema={"run_id": pl.String, **kinds}, orient="row")


def _at(rental: Any, name: str) -> sa.ColumnElement[Any]:  # noqa: ANN401 - SQLAlchemy types it so
    found = rental[_PATHS[name]]
    value: sa.ColumnElement[Any] = found.as_integer() if name in _WHOLE else found.as_string()
    return value
