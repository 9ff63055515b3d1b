"""The selection language and the order of runs, for queries that are written with SQLAlchemy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from diskbench.store import schema
from diskbench.store.reader import reader_of
from diskbench.store.where import where

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Engine

    from diskbench.store.where import Filter


def meets(database: Engine, filters: Sequence[Filter]) -> sa.TextClause:
    """What the run table must meet in a query that the caller writes. Raises as `parse_filter`."""
    met = where(filters, reader_of(database).dialect)
    names = [f"met_{at}" for at in range(len(met.values))]
    parts = met.text.split("?")
    text = parts[0] + "".join(f":{n}{part}" for n, part in zip(names, parts[1:], strict=True))
    return sa.text(f"({text})").bindparams(**dict(zip(names, met.values, strict=True)))


def newest_first() -> tuple[sa.ColumnElement[Any], ...]:
    """The order of runs by when they were measured; those without a date come last."""
    run = schema.run.c
    return run.measured_at.desc().nulls_last(), run.created_at.desc(), run.run_id.desc()


def oldest_first() -> tuple[sa.ColumnElement[Any], ...]:
    """The other way round; those without a date come last here, too."""
    run = schema.run.c
    return run.measured_at.asc().nulls_last(), run.created_at.asc(), run.run_id.asc()
