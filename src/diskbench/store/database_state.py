"""The state of a database, read without making or migrating anything."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from diskbench.errors import StoreUnavailable
from diskbench.store.clock import warn_of_skew
from diskbench.store.database import check_writable, engine_options, parse_url
from diskbench.store.database_errors import as_unavailable, shown_url
from diskbench.store.revisions import HEAD, REVISIONS
from diskbench.store.schema_revision import revision_of
from diskbench.store.urls import database_file


@dataclass(frozen=True)
class DatabaseState:
    """`revision` is that of our schema, None where there is none; `exists` says whether there is a
    database at all: the first run makes a SQLite file."""

    url: str
    exists: bool
    revision: str | None = None

    @property
    def is_current(self) -> bool:
        """Whether nothing has to be made or migrated."""
        return self.revision == HEAD


def database_state(url: str) -> DatabaseState:
    """The state of the database at `url`; a lock is taken for a moment to see whether it can be
    written to.

    Logs a warning where this machine's clock is over a minute from the database's. Raises
    StoreUnavailable when it cannot be reached or written, is none, or has a schema of a
    newer diskbench.
    """
    parsed = parse_url(url)
    file = database_file(url)
    engine = sa.create_engine(parsed, **engine_options(parsed))
    try:
        if file is not None and not file.exists():
            return DatabaseState(shown_url(engine), exists=False)
        with as_unavailable(engine, before_work=True):
            revision = revision_of(engine)
        if revision is not None:
            if revision not in REVISIONS:
                raise StoreUnavailable(
                    f"its schema {revision} is newer than this diskbench, which knows "
                    f"{REVISIONS[0]} to {HEAD}",
                    advice="upgrade this diskbench, or use another database",
                )
            check_writable(engine)
            warn_of_skew(engine)
        return DatabaseState(shown_url(engine), exists=True, revision=revision)
    finally:
        engine.dispose()
