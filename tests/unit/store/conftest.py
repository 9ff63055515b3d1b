import subprocess
import uuid

import pytest
import sqlalchemy as sa
from tests.rigs.plans import make_plan, run_fio
from tests.rigs.postgres import running_postgres

from diskbench.store.database import open_database


@pytest.fixture
def plan():
    return make_plan()


@pytest.fixture(scope="session")
def fio_files(tmp_path_factory):
    """(step, files) of two real steps; session-wide, since fio takes a moment to start."""
    directory = tmp_path_factory.mktemp("fio")
    plan = make_plan()
    return tuple((step, run_fio(directory / str(step.index), step)) for step in plan.steps)


@pytest.fixture(scope="session")
def postgres_url():
    with running_postgres() as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def any_database_url(request, tmp_path):
    """A fresh database of each kind; in PostgreSQL one of its own in the session's server."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/any.db"
        return
    server = sa.make_url(request.getfixturevalue("postgres_url"))
    admin = sa.create_engine(
        server.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )
    name = f"t{uuid.uuid4().hex}"
    with admin.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    admin.dispose()
    yield server.set(drivername="postgresql+psycopg", database=name).render_as_string(
        hide_password=False
    )


@pytest.fixture
def any_database(any_database_url):
    engine = open_database(any_database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def other(tmp_path):
    """Another empty database, in SQLite."""
    engine = open_database(f"sqlite:///{tmp_path}/other.db")
    yield engine
    engine.dispose()


@pytest.fixture
def small_disk(tmp_path):
    """A filesystem of 1 MiB, to be filled for real; needs root."""
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], check=True)
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)
