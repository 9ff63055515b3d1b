"""The schema of a database: which revision it has, and how it is created or migrated. Alembic is
imported only when there is something to migrate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from diskbench.errors import StoreUnavailable
from diskbench.store.columns import metadata
from diskbench.store.database_errors import shown_url
from diskbench.store.revisions import HEAD, REVISIONS, VERSION_TABLE

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine

_LOCK_KEY = 0x6469736B62656E63
"""PostgreSQL's advisory lock around making and migrating the schema: "diskbenc"."""
VERSIONS = sa.table(VERSION_TABLE, sa.column("version_num", sa.String))


def revision_of(engine: Engine) -> str | None:
    """The schema revision of the database; None where it has no schema of diskbench."""
    with engine.connect() as connection:
        return _revision_on(connection)


def _revision_on(connection: Connection) -> str | None:
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    revision = connection.execute(sa.select(VERSIONS.c.version_num)).scalar()
    return str(revision) if revision is not None else None


def bring_up_to_date(engine: Engine) -> None:
    """Create or migrate the schema in one transaction, one process at a time."""
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_LOCK_KEY})"))
        revision = _revision_on(connection)
        if revision is None:
            create(connection)
        elif revision not in REVISIONS:
            raise StoreUnavailable(
                f"database {shown_url(engine)} has schema {revision}; this diskbench knows "
                f"{REVISIONS[0]} to {HEAD}",
                advice="a newer diskbench wrote it: upgrade this one, or use another database",
            )
        elif revision != HEAD:
            migrate(connection)
        connection.commit()


def create(connection: Connection) -> None:
    """Create all tables, marked as revision HEAD; a test compares this with the migrations."""
    metadata.create_all(connection)
    versions = sa.Table(
        VERSION_TABLE,
        sa.MetaData(),
        sa.Column("version_num", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc"),
    )
    versions.create(connection)
    connection.execute(sa.insert(versions).values(version_num=HEAD))


def migrate(connection: Connection, *, to: str = "head") -> None:
    """Run the migrations up to the revision `to` on `connection`, in its transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "diskbench.store:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, to)
