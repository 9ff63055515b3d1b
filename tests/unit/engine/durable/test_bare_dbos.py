"""DBOS is imported without psycopg and the ORM, and uses the real psycopg where it needs it."""

import subprocess
import sys

import pytest

DIALECTS = "sqlalchemy.dialects.postgresql"
UNUSED = (
    *("psycopg", "sqlalchemy.orm", "sqlalchemy.ext.asyncio", f"{DIALECTS}.asyncpg"),
    *("croniter", "dateutil", "dbos.cli"),
)
BARE = "import sys, diskbench.engine.durable.bare_dbos\n"


def said(code: str) -> str:
    """What `code` prints in a fresh interpreter."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.slow
def test_neither_drivers_nor_the_orm_are_imported_and_no_stand_in_stays():
    assert said(f"{BARE}print([n for n in {UNUSED!r} if n in sys.modules])") == "[]"


@pytest.mark.slow
def test_the_errors_that_dbos_compares_with_are_those_of_psycopg():
    code = f"""{BARE}
import dbos._utils, dbos._sys_db
names = dbos._utils.psycopg.OperationalError, dbos._sys_db.pg_errors.LockNotAvailable
import psycopg
print(names == (psycopg.OperationalError, psycopg.errors.LockNotAvailable))
"""
    assert said(code) == "True"


@pytest.mark.slow
def test_the_orm_can_be_imported_afterwards():
    code = f"{BARE}from sqlalchemy.orm import Session; print(Session.__module__)"
    assert said(code) == "sqlalchemy.orm.session"


@pytest.mark.slow
def test_an_object_of_the_orm_is_refused_with_a_pointer_to_where_it_was_left_out():
    code = f"""{BARE}
import dbos._datasource
try:
    dbos._datasource.SyncSessionmaker(expire_on_commit=False)
except RuntimeError as error:
    print(error)
"""
    assert "bare_dbos.py" in said(code)


@pytest.mark.slow
def test_the_dialect_of_another_driver_is_the_real_one_afterwards():
    code = f"""{BARE}
import {DIALECTS} as dialects
early = dialects.asyncpg.dialect
import {DIALECTS}.asyncpg
print(early is {DIALECTS}.asyncpg.dialect and early.driver)
"""
    assert said(code) == "asyncpg"


_MEANWHILE = """
import sys, threading

def watch(event, arguments):
    if event == "import" and arguments[0] == "dbos._sys_db":
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()

def ask():
    import psycopg
    from sqlalchemy.ext.asyncio import AsyncSession
    from sqlalchemy.orm import Session
    print(psycopg.__version__ > "3", AsyncSession.__module__, Session.__module__)

sys.addaudithook(watch)
"""


@pytest.mark.slow
def test_a_thread_that_imports_the_orm_or_psycopg_meanwhile_gets_the_real_ones():
    orm = "sqlalchemy.ext.asyncio.session sqlalchemy.orm.session"
    assert said(f"{_MEANWHILE}{BARE}") == f"True {orm}"


@pytest.mark.slow
def test_schedules_get_the_real_croniter():
    code = f"""{BARE}
import dbos._scheduler, dbos._client
before = "croniter" in sys.modules
print(before, dbos._client.croniter.is_valid("0 * * * *"))
"""
    assert said(code) == "False True"
