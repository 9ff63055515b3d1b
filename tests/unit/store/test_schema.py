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
from diskbench.store.columns import PREFIX, metadata
from diskbench.store.leases import Lease
from diskbench.store.migrations.filters import ours
from diskbench.store.result_tables import STAMP
from diskbench.store.revisions import REVISIONS, VERSION_TABLE
from diskbench.store.run_row import run_row
from diskbench.store.schema_revision import create, migrate

# Alembic does not compare the indexes of expressions (store/migrations/filters.py).
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
    assert {*run_row(make_plan(), 0, "file:///e"), STAMP} == set(schema.run.c.keys())


def test_every_table_of_ours_is_told_from_those_of_dbos():
    assert all(name.startswith(PREFIX) for name in metadata.tables)
    assert VERSION_TABLE.startswith(PREFIX)
    assert set(metadata.tables.values()) == {*schema.RESULT_TABLES, *schema.RUNTIME_TABLES}


def test_the_known_revisions_are_those_of_the_migrations():
    config = Config()
    config.set_main_option("script_location", "diskbench.store:migrations")
    scripts = ScriptDirectory.from_config(config)
    assert [s.revision for s in reversed(list(scripts.walk_revisions()))] == list(REVISIONS)


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
                "include_name": ours,
                "compare_type": True,
            },
        )
        assert alembic.autogenerate.compare_metadata(context, metadata) == []
    engine.dispose()


@pytest.mark.slow
def test_the_tables_of_both_ways_read_alike_to_the_letter(tmp_path):
    made = []
    for make in (create, migrate):
        engine = sa.create_engine(f"sqlite:///{tmp_path}/{make.__name__}.db")
        with engine.begin() as connection:
            make(connection)
            rows = connection.execute(
                sa.text("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
            )
            # SQLite quotes the name of a table that a migration had to make anew
            made.append([(name, " ".join(sql.replace('"', "").split())) for name, sql in rows])
        engine.dispose()
    assert made[0] == made[1]
