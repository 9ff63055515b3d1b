"""The schema of a database: which revision it has, and how it is created or migrated.

From the first tag on, a revision is never changed: a changed table needs one more file in
`migrations/versions/`, its id at the end of REVISIONS, and its digest in
tests/unit/store/revisions.sha256. Alembic is imported only when there is something to migrate.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from diskbench.errors import StoreUnavailable
from diskbench.store.database_errors import shown_url
from diskbench.store.result_tables import metadata

VERSION_TABLE = "diskbench_alembic_version"
REVISIONS = ("0001",)
"""Every schema revision this program knows, oldest first; the last is the one it uses."""
HEAD = REVISIONS[-1]
_LOCK_KEY = 0x6469736B62656E63
"""PostgreSQL's advisory lock around making and migrating the schema: "diskbenc"."""
VERSIONS = sa.Table(
    VERSION_TABLE,
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc"),
)


def revision_of(engine: Engine) -> str | None:
    """The schema revision of the database; None where it has no schema of diskbench."""
    with engine.connect() as connection:
        return _revision_on(connection)


def _revision_on(connection: Connection) -> str | None:
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    revision = connection.execute(sa.select(VERSIONS.c.version_num)).scalar()
    return str(revision) if revision is not None else None


def refuse_unknown(engine: Engine, revision: str) -> None:
    """Raise StoreUnavailable for a revision that this program does not know."""
    if revision not in REVISIONS:
        raise StoreUnavailable(
            f"database {shown_url(engine)} has schema {revision}; this diskbench knows "
            f"{', '.join(REVISIONS)}",
            advice="another version of diskbench wrote it: use that version, or choose another "
            "database, which 'diskbench results rebuild' fills from the evidence",
        )


def bring_up_to_date(engine: Engine) -> None:
    """Create or migrate the schema in one transaction, one process at a time. Raises
    StoreUnavailable for a revision that this program does not know."""
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK_KEY)))
        revision = _revision_on(connection)
        if revision is None:
            create(connection)
        elif revision != HEAD:
            refuse_unknown(engine, revision)
            migrate(connection)
        connection.commit()


def create(connection: Connection) -> None:
    """Create all tables, marked as revision HEAD; a test compares this with the revisions."""
    metadata.create_all(connection)
    VERSIONS.create(connection)
    connection.execute(sa.insert(VERSIONS).values(version_num=HEAD))


def migrate(connection: Connection) -> None:
    """Run the revisions that the database lacks on `connection`, in its transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "diskbench.store:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
