"""Migrations are only ever added: every database has run the text that was there when it did."""

import hashlib
from importlib.resources import files
from pathlib import Path

import alembic.autogenerate
import pytest
import sqlalchemy as sa
from alembic.migration import MigrationContext
from tests.rigs.old_stores import CASES, NAMES, sql_of

from diskbench.store.columns import metadata
from diskbench.store.database import open_database
from diskbench.store.migrations.filters import ours
from diskbench.store.revisions import HEAD, REVISIONS, VERSION_TABLE

# Alembic does not compare the indexes of expressions (store/migrations/filters.py).
pytestmark = pytest.mark.filterwarnings("ignore:Skipped unsupported reflection of expression")

SUMS = Path(__file__).parent / "migrations.sha256"
VERSIONS = files("diskbench.store.migrations") / "versions"


def kept_digests() -> dict[str, str]:
    lines = (line.split() for line in SUMS.read_text().splitlines())
    return {name: digest for digest, name in lines}


def test_no_migration_was_changed_or_taken_away():
    for name, digest in kept_digests().items():
        found = hashlib.sha256((VERSIONS / name).read_bytes()).hexdigest()
        assert found == digest, (
            f"{name} was edited. Databases that have run it stay as they are: put it back as it "
            "was, and add a new migration with the change"
        )


def test_every_migration_has_its_digest():
    there = {one.name for one in VERSIONS.iterdir() if one.name.startswith("v")}
    assert there == set(kept_digests()), (
        f"add the new migration's line to {SUMS.name}: sha256sum v….py >> {SUMS.name}"
    )
    assert len(there) == len(REVISIONS)


def difference(engine: sa.Engine) -> list[object]:
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={"version_table": VERSION_TABLE, "include_name": ours, "compare_type": True},
        )
        return list(alembic.autogenerate.compare_metadata(context, metadata))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_earlier_form_of_the_schema_becomes_todays(name, any_database_url):
    raw = sa.create_engine(any_database_url)
    with raw.begin() as connection:
        for statement in tables_of_ours(name, raw.dialect.name):
            connection.exec_driver_sql(statement)
    raw.dispose()
    engine = open_database(any_database_url)
    assert difference(engine) == []
    with engine.connect() as connection:
        found = connection.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}"))  # noqa: S608
        assert found.scalars().all() == [HEAD]
    engine.dispose()


def tables_of_ours(name: str, dialect: str) -> list[str]:
    """The tables, indexes and revision of a kept store; PostgreSQL reads what SQLite wrote, but
    its first form had JSONB there."""
    words = ("CREATE TABLE diskbench_", "CREATE INDEX ix_diskbench_")
    row = 'INSERT INTO "diskbench_alembic_version"'
    found = [
        one.strip() for one in sql_of(name).split(";\n") if one.strip().startswith((*words, row))
    ]
    found.sort(key=lambda one: not one.startswith(words[0]))
    if dialect == "sqlite":
        return found
    json = "JSONB" if name == "0001-first" else "JSON"
    return in_order(
        [one.replace(" JSON", f" {json}").replace(" DOUBLE", " DOUBLE PRECISION") for one in found]
    )


def in_order(statements: list[str]) -> list[str]:
    """Tables after those that they refer to."""
    left, made, ordered = list(statements), set[str](), list[str]()
    names = {one.split()[2] for one in left if one.startswith("CREATE TABLE")}
    while left:
        for one in left:
            wanted = {word for word in one.replace("(", " ").split() if word in names}
            me = one.split()[2] if one.startswith("CREATE TABLE") else ""
            if wanted - made - {me} == set():
                ordered.append(one)
                made.add(me)
                left.remove(one)
                break
        else:
            raise AssertionError(f"a circle of references: {left}")
    return ordered


def test_a_store_of_the_last_schema_is_kept():
    schemas = [(CASES / name / "HOW.md").read_text().split("Schema: ")[1].strip() for name in NAMES]
    assert max(schemas) >= REVISIONS[-2], (
        f"the newest store in tests/cases/stores has schema {max(schemas)}: make one of the commit "
        f"before schema {HEAD} (tests/cases/stores/README.md)"
    )
