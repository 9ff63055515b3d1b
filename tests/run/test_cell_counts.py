"""What a cell of a matrix costs in the database: statements about its own rows, and checkpoints.

Not counted is what depends on time and not on cells: the looks of a worker at matrices, cells,
shared machines and processes, the progress of fio, and DBOS's polls.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from tests.rigs.cli import a_user
from tests.rigs.postgres import running_postgres

from diskbench.providers.fake.cloud import VARIABLE as FAKE_DIR

pytestmark = pytest.mark.slow

CELLS = 4
WAIT_S = 240.0
PROFILE = "[read]\nioengine=null\nsize=1m\nrw=randread\nnumber_ios=10\n"
COUNTED = ("shared_preload_libraries=pg_stat_statements",)
OWN_TABLES = ("trial", "run", "step", "measurement", "warning", "headline", "timing", "claim")
"""What only a cell's own thread reads and writes while workers run and nobody looks."""
MOST_STATEMENTS = 31
MOST_LEASE_STATEMENTS = 7
MOST_CHECKPOINT_BYTES = 4000


@pytest.fixture
def database(tmp_path) -> Iterator[sa.Engine]:
    """The database of a matrix whose null cells one worker measured to the end."""
    user = a_user(tmp_path)
    (user.home / "null.fio").write_text(PROFILE)
    fields = {"provider": "fake", "disk": "plain", "size": 1, "profile": "./null.fio"}
    matrix = {"name": "null", "defaults": fields, "include": [{"replicates": CELLS}]}
    (user.home / "matrix.yaml").write_text(json.dumps(matrix))  # JSON is YAML
    with running_postgres(*COUNTED) as url:
        user.extra_env |= {FAKE_DIR: str(tmp_path / "fake"), "DISKBENCH_DATABASE_URL": url}
        engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
        with engine.begin() as connection:
            connection.execute(sa.text("CREATE EXTENSION pg_stat_statements"))
        queued = user.run("matrix", "run", str(user.home / "matrix.yaml"), "--queue")
        assert queued.returncode == 0, queued.stderr
        with engine.begin() as connection:
            connection.execute(sa.text("SELECT pg_stat_statements_reset()"))
        worker = user.start("worker")
        try:
            deadline = time.monotonic() + WAIT_S
            while asked(engine, "SELECT count(*) FROM diskbench_matrix WHERE state = 'done'") != 1:
                assert worker.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.1)
            yield engine
        finally:
            worker.terminate()
            worker.communicate(timeout=WAIT_S)
            engine.dispose()


def asked(engine: sa.Engine, query: str) -> float:
    with engine.connect() as connection:
        return float(connection.execute(sa.text(query)).scalar_one())


def sent(engine: sa.Engine, *tables: str) -> float:
    """How many statements named one of the tables, by cell; not the database's own, which check
    foreign keys."""
    pattern = "diskbench_({})".format("|".join(tables))
    looks = "diskbench_(cell|progress|executor|machine)"
    query = f"""SELECT coalesce(sum(calls), 0) FROM pg_stat_statements
        WHERE query ~ '{pattern}\\y' AND query !~ 'FROM ONLY|{looks}\\y'
        AND query !~ 'pg_stat|^CREATE|^ALTER'"""  # noqa: S608 - our own words
    return asked(engine, query) / CELLS


def test_a_cell_costs_two_checkpoints_and_few_statements(database):
    done = asked(database, "SELECT count(*) FROM diskbench_cell WHERE state = 'done'")
    checkpoints = asked(database, "SELECT count(*) FROM dbos.operation_outputs")
    length = "SELECT sum(octet_length(output)) FROM dbos.operation_outputs"
    assert done == CELLS
    assert checkpoints / CELLS == 2
    assert asked(database, length) / CELLS < MOST_CHECKPOINT_BYTES
    assert sent(database, *OWN_TABLES) <= MOST_STATEMENTS
    assert sent(database, "lease") <= MOST_LEASE_STATEMENTS
    assert sent(database, "campaign") <= 1, "a matrix has written its campaign"
