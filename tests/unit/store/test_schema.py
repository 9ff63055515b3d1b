import hashlib
from importlib.resources import files
from pathlib import Path

import alembic.autogenerate
import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from tests.rigs.plans import make_plan

from diskbench.model.result import Measurement, StepResult, Warning  # noqa: A004 - the noun
from diskbench.store import schema
from diskbench.store.claims import Executor
from diskbench.store.leases import Lease
from diskbench.store.result_tables import PREFIX, metadata
from diskbench.store.run_row import run_row
from diskbench.store.schema_revision import REVISIONS, VERSION_TABLE, create, migrate

SUMS = Path(__file__).parent / "revisions.sha256"
VERSIONS = files("diskbench.store.migrations") / "versions"
# Alembic does not compare the indexes of expressions (store/migrations/env.py).
pytestmark = pytest.mark.filterwarnings("ignore:Skipped unsupported reflection of expression")


@pytest.mark.parametrize(
    ("noun", "table", "elsewhere"),
    [
        (Measurement, schema.measurement, {"position"}),
        (Warning, schema.warning, {"run_id", "step_index", "position"}),
        (Lease, schema.lease, set()),
    ],
)
def test_a_noun_and_its_table_have_the_same_fields(noun, table, elsewhere):
    assert set(noun.model_fields) | elsewhere == set(table.c.keys())


def test_the_fields_of_a_step_are_columns_or_tables_of_their_own():
    assert set(StepResult.model_fields) - {"measurements", "warnings"} == set(
        schema.step.c.keys()
    ) - {"run_id"}


def test_executors_have_the_fields_of_their_table():
    assert set(Executor.__dataclass_fields__) - {"seen_at"} == set(schema.executor.c.keys())


def test_the_row_of_a_run_fills_every_column():
    assert set(run_row(make_plan(), 0, "file:///e")) == set(schema.run.c.keys())


def test_every_table_of_ours_is_told_from_those_of_dbos():
    assert all(name.startswith(PREFIX) for name in metadata.tables)
    assert VERSION_TABLE.startswith(PREFIX)
    assert set(metadata.tables.values()) == {*schema.RESULT_TABLES, *schema.RUNTIME_TABLES}


def test_the_known_revisions_are_those_of_the_migrations():
    config = Config()
    config.set_main_option("script_location", "diskbench.store:migrations")
    scripts = ScriptDirectory.from_config(config)
    assert [s.revision for s in reversed(list(scripts.walk_revisions()))] == list(REVISIONS)


def test_no_revision_was_changed_or_taken_away_and_each_has_its_digest():
    kept = {name: digest for digest, name in map(str.split, SUMS.read_text().splitlines())}
    there = {file.name: file.read_bytes() for file in VERSIONS.iterdir() if file.name[0] == "v"}
    found = {name: hashlib.sha256(data).hexdigest() for name, data in there.items()}
    assert found == kept, (
        "From the first tag on a revision is never edited, because databases that have run it stay "
        "as they are: put it back as it was, add one more with the change, and its line to "
        f"{SUMS.name} (sha256sum v….py). Before the first tag: write the new digest there"
    )


@pytest.mark.parametrize("make", [create, migrate])
def test_made_at_once_and_migrated_are_the_same_schema(any_database_url, make):
    engine = sa.create_engine(any_database_url)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE queues (name TEXT)"))  # one of DBOS's
        make(connection)
    with engine.connect() as connection:
        found = connection.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}"))  # noqa: S608
        assert found.scalars().all() == [REVISIONS[-1]]
        context = MigrationContext.configure(
            connection,
            opts={
                "version_table": VERSION_TABLE,
                "include_name": lambda name, kind, _: kind != "table" or name.startswith(PREFIX),
                "compare_type": True,
            },
        )
        assert alembic.autogenerate.compare_metadata(context, metadata) == []
    engine.dispose()


@pytest.mark.slow
def test_the_tables_and_indexes_of_both_ways_read_alike_to_the_letter(any_database_url):
    made = []
    for make in (create, migrate):
        engine = sa.create_engine(any_database_url)
        is_sqlite = engine.dialect.name == "sqlite"
        texts = (
            "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
            if is_sqlite
            else "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"
        )
        with engine.begin() as connection:
            make(connection)
            found = connection.execute(sa.text(texts)).all()
            made.append([(name, " ".join(text.split())) for name, text in found])
            metadata.drop_all(connection)
            connection.execute(sa.text(f"DROP TABLE {VERSION_TABLE}"))
        engine.dispose()
    assert made[0] == made[1]
    assert {"ix_diskbench_run_region_measured_at", "ix_diskbench_cell_trial_id"} <= {
        n for n, _ in made[0]
    }
