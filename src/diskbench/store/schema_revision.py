"""The schema of a database: which revision it has, and how it is created.

There is one revision, and a database of another is refused: `results rebuild` fills a new one from
the evidence. From the first tag on, a changed table needs a new id here, its digest in
tests/unit/store/test_schema.py, and a migration from the revision before.
"""

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from diskbench.errors import StoreUnavailable
from diskbench.store.database_errors import shown_url
from diskbench.store.result_tables import metadata

VERSION_TABLE = "diskbench_alembic_version"
HEAD = "0001"
"""The schema revision that this program knows."""
_LOCK_KEY = 0x6469736B62656E63
"""PostgreSQL's advisory lock around making the schema: "diskbenc"."""
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
    if revision != HEAD:
        raise StoreUnavailable(
            f"database {shown_url(engine)} has schema {revision}; this diskbench knows {HEAD}",
            advice="another version of diskbench wrote it: use that version, or choose another "
            "database, which 'diskbench results rebuild' fills from the evidence",
        )


def make_schema(engine: Engine) -> None:
    """Create the schema where there is none, in one transaction, one process at a time. Raises
    StoreUnavailable for a revision that this program does not know."""
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK_KEY)))
        revision = _revision_on(connection)
        if revision is None:
            create(connection)
        else:
            refuse_unknown(engine, revision)
        connection.commit()


def create(connection: Connection) -> None:
    """Create all tables, marked as revision HEAD."""
    metadata.create_all(connection)
    VERSIONS.create(connection)
    connection.execute(sa.insert(VERSIONS).values(version_num=HEAD))
