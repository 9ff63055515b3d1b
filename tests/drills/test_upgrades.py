"""Databases of other versions in the hands of this one."""

import pytest
import sqlalchemy as sa
from tests.rigs.cli import a_user

from diskbench.store.database import open_database
from diskbench.store.schema_revision import HEAD, VERSION_TABLE


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
@pytest.mark.parametrize("command", [("status",), ("results", "list"), ("gc",), ("resume",)])
def test_the_schema_of_another_version_is_refused(command, backend, tmp_path, postgres):
    """A command is given another version's database: exit 2, both schemas and what to do."""
    url = f"sqlite:///{tmp_path}/later.db" if backend == "sqlite" else postgres
    made = open_database(url)
    with made.begin() as connection:
        connection.execute(sa.text(f"UPDATE {VERSION_TABLE} SET version_num = '9001'"))  # noqa: S608
    refused = a_user(tmp_path, DISKBENCH_DATABASE_URL=url).refused(*command)
    with made.begin() as connection:
        connection.execute(sa.text(f"UPDATE {VERSION_TABLE} SET version_num = '{HEAD}'"))  # noqa: S608
    made.dispose()
    assert refused.stdout == ""
    assert f"has schema 9001; this diskbench knows {HEAD}" in refused.stderr
    assert "another version of diskbench wrote it: use that version" in refused.stderr
