"""Rows that leave the database are frozen types, one a table, with the columns of it."""

from dataclasses import FrozenInstanceError

import pytest
from tests.rigs.runs import a_run

from diskbench.model.run import MEASURED_FIELDS, RUN_FIELDS, run_columns
from diskbench.store import schema


def test_a_run_has_the_columns_of_its_table_in_their_order():
    assert tuple(schema.run.c.keys()) == RUN_FIELDS
    assert list(run_columns(a_run())) == list(RUN_FIELDS)


def test_a_measured_row_has_the_columns_of_its_table():
    own = [c.name for c in schema.measurement.c if c.name not in (*RUN_FIELDS, "position")]
    assert [*own, "job_error"] == list(MEASURED_FIELDS)


def test_nobody_changes_a_run():
    with pytest.raises(FrozenInstanceError):
        a_run().state = "done"
