import hashlib
from dataclasses import FrozenInstanceError

import pytest
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable
from tests.rigs.plans import make_plan
from tests.rigs.runs import a_run

from diskbench.model.result import Measurement, StepResult, Warning  # noqa: A004 - the noun
from diskbench.model.run import MEASURED_FIELDS, RUN_FIELDS, run_columns
from diskbench.store import schema
from diskbench.store.executors import Executor
from diskbench.store.leases import Lease
from diskbench.store.result_tables import PREFIX, metadata
from diskbench.store.run_row import run_row
from diskbench.store.schema_revision import HEAD, VERSION_TABLE

DIGESTS = {"0001": "27bc739fa0202f5e1c6133410b5d2aa3d90b4fbdca64040bb5a0d0a0b0d3af05"}
"""The revision → the digest of its tables and indexes."""


@pytest.mark.parametrize(
    ("fields", "table"),
    [
        ({*Measurement.model_fields, "position"}, schema.measurement),
        ({*Warning.model_fields, "run_id", "step_index", "position"}, schema.warning),
        ({*Lease.model_fields}, schema.lease),
        ({*StepResult.model_fields, "run_id"} - {"measurements", "warnings"}, schema.step),
        ({*Executor.__dataclass_fields__} - {"seen_at"}, schema.executor),
        ({*run_row(make_plan(), 0, "file:///e")}, schema.run),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_a_noun_and_its_table_have_the_same_fields(fields, table):
    assert fields == set(table.c.keys())


def test_every_table_of_ours_is_told_from_those_of_dbos():
    assert all(name.startswith(PREFIX) for name in metadata.tables)
    assert VERSION_TABLE.startswith(PREFIX)
    assert set(metadata.tables.values()) == {*schema.RESULT_TABLES, *schema.RUNTIME_TABLES}


def test_a_changed_table_or_index_has_a_new_revision():
    tables = metadata.sorted_tables
    made = [CreateTable(table) for table in tables]
    made += [
        CreateIndex(i) for table in tables for i in sorted(table.indexes, key=lambda i: i.name)
    ]
    ddl = "".join(str(one.compile(dialect=postgresql.dialect())) for one in made)
    assert hashlib.sha256(ddl.encode()).hexdigest() == DIGESTS[HEAD], (
        "From the first tag on databases that have a revision stay as they are: give the change a "
        "new revision (store/schema_revision.py). Before the first tag: write the new digest here"
    )


# Rows that leave the database are frozen types, one a table, with the columns of it.


def test_a_run_and_a_measured_row_have_the_columns_of_their_table_and_nobody_changes_a_run():
    assert tuple(schema.run.c.keys()) == RUN_FIELDS
    assert list(run_columns(a_run())) == list(RUN_FIELDS)
    own = [c.name for c in schema.measurement.c if c.name not in (*RUN_FIELDS, "position")]
    assert [*own, "job_error"] == list(MEASURED_FIELDS)
    with pytest.raises(FrozenInstanceError):
        a_run().state = "done"
