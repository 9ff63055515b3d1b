"""The selection language as SQL text: it knows each column's type without SQLAlchemy's tables."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from diskbench.store import schema
from diskbench.store.database import open_database
from diskbench.store.query import find_runs
from diskbench.store.reader import open_reader
from diskbench.store.schema import STAMP
from diskbench.store.where import OF_ROWS, OF_RUNS, parse_filter

KINDS = {sa.Boolean: "bool", sa.Integer: "int", sa.Double: "float", sa.Text: "str"}


def kind_of(column: sa.Column[object]) -> str:
    if isinstance(column.type, sa.JSON):
        return "Mapping[str,"
    return next(word for kind, word in KINDS.items() if isinstance(column.type, kind))


def test_the_types_are_those_of_the_tables() -> None:
    of_runs = {column.name: kind_of(column) for column in schema.run.c if column.name != STAMP}
    assert {name: kind.replace("ShownState", "str") for name, kind in OF_RUNS.items()} == of_runs
    own = {c.name: kind_of(c) for c in schema.measurement.c if c.name not in schema.run.c}
    assert own == OF_ROWS


@pytest.mark.parametrize("filters", [[], ["state=done"], ["imported=false", "label.team="]])
def test_a_file_is_read_alike_with_and_without_sqlalchemy(
    database: sa.Engine, plan: object, filters: list[str]
) -> None:
    from diskbench.store.rows import save_plan

    save_plan(database, plan, "file:///e")
    wanted = [parse_filter(text) for text in filters]
    reader = open_reader(database.url.render_as_string())
    assert reader is not None
    assert find_runs(reader, wanted) == find_runs(database, wanted)
    reader.close()


def test_a_file_of_another_schema_is_left_to_who_migrates_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/old.db"
    assert open_reader(url) is None
    engine = open_database(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE diskbench_alembic_version SET version_num = '9001'")
    engine.dispose()
    assert open_reader(url) is None
    assert open_reader("postgresql://somebody@nowhere/db") is None
