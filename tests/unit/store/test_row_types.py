"""Rows that leave the database are frozen types, one a table, with the columns of it."""

import re
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest
from tests.rigs.runs import a_run

import diskbench
from diskbench.model.run import MEASURED_FIELDS, RUN_FIELDS, run_columns
from diskbench.store import schema

SOURCE = Path(diskbench.__file__).parent
READS = re.compile(r"\b(?:row|run)\[[\"']\w+[\"']\]")


def test_a_run_has_the_columns_of_its_table_in_their_order():
    assert tuple(schema.run.c.keys()) == RUN_FIELDS
    assert list(run_columns(a_run())) == list(RUN_FIELDS)


def test_a_measured_row_has_the_columns_of_its_table():
    own = [c.name for c in schema.measurement.c if c.name not in (*RUN_FIELDS, "position")]
    assert [*own, "job_error"] == list(MEASURED_FIELDS)


def test_nobody_changes_a_run():
    with pytest.raises(FrozenInstanceError):
        a_run().state = "done"


def test_no_row_of_a_run_is_read_by_the_name_of_a_column():
    """What a typing error in a name would break is found by mypy, and not when it is read."""
    found = {
        f"{path.relative_to(SOURCE)}:{number}"
        for room in ("engine", "results", "report", "cli", "plan", "analysis")
        for path in (SOURCE / room).rglob("*.py")
        if path.parent.name != "charts"  # whose rows are Vega's
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if READS.search(line)
    }
    frames = {
        "report/terminal/plots.py",
        "report/assemble/course.py",
    }
    assert {one for one in found if one.partition(":")[0] not in frames} == set()
