import subprocess

import duckdb
import pytest
from tests.rigs.fio_reports import bucket_index
from tests.rigs.plans import make_plan, run_fio
from tests.rigs.postgres import new_database, running_postgres

from diskbench.store.database import open_database
from diskbench.store.series import SERIES_COLUMNS, write_series


def series_rows(folder, logs, totals=None):
    """The rows of the series of `logs` (name → text), which are written to the folder."""
    for name, text in logs.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    paths, target = [folder / name for name in logs], folder / "series.parquet"
    count = write_series(paths, target, totals=totals)
    found = parquet_rows(target)
    assert len(found) == count
    return found


def parquet_rows(parquet):
    rows = duckdb.read_parquet(str(parquet)).fetchall()
    return [dict(zip(SERIES_COLUMNS, row, strict=True)) for row in rows]


def histogram_line(time, direction, latencies, coarseness=0):
    counts = [0] * ((29 * 64) >> coarseness)
    for latency in latencies:
        counts[bucket_index(latency) >> coarseness] += 1
    return ", ".join(map(str, (time, direction, 4096, *counts))) + "\n"


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
        return f"sqlite:///{tmp_path}/any.db"
    return new_database(request.getfixturevalue("postgres_url"))


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
