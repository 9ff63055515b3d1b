"""A run that was measured: its evidence kept and its rows saved, without a host."""

from contextlib import contextmanager

import sqlalchemy as sa
from tests.rigs.plans import save_plan

from diskbench.store import archive, rows
from diskbench.store.database import open_database, transaction
from diskbench.store.evidence import open_evidence
from diskbench.store.finish import finish_run
from diskbench.store.parse_step import step_result
from diskbench.store.schema import run
from diskbench.store.step_rows import save_step

TIMES = {
    "started_at": "2026-11-21T10:00:00.000000+00:00",
    "finished_at": "2026-11-21T10:00:05.000000+00:00",
}


@contextmanager
def stores_in(place):
    """A database and evidence in a folder, which may be copied once they are filled."""
    database = open_database(f"sqlite:///{place}/rows.db")
    yield database, open_evidence((place / "evidence").as_uri())
    database.dispose()


def measure(database, evidence, plan, run_index, fio_files):
    run_id = plan.run_ids[run_index]
    begin_run(database, run_id)
    for step, files in fio_files:
        record = archive.write_step_evidence(evidence, run_id, step, files, **TIMES)
        kept = archive.result_files(evidence, run_id, record)
        save_step(database, run_id, step_result(step, run_id, kept, plan.facts, **TIMES))


def recorded(database, evidence, plan, fio_files):
    """A trial that is kept, with these steps of its first run."""
    save_plan(database, plan, evidence.url)
    archive.write_plan(evidence, plan)
    measure(database, evidence, plan, 0, fio_files)
    return plan


def keep_finished(database, evidence, plan, fio_files):
    """A trial whose runs are done, each with the files of its steps."""
    save_plan(database, plan, evidence.url)
    archive.write_plan(evidence, plan)
    for index in range(len(plan.run_ids)):
        measure(database, evidence, plan, index, fio_files)
        finish_run(database, evidence, plan, index, "done", None)


def begin_run(database, run_id):
    """As rows.begin_run, with the date of its plan."""
    rows.begin_run(database, run_id)
    with transaction(database) as connection:
        connection.execute(
            sa.update(run)
            .where(run.c.run_id == run_id)
            .values(started_at=run.c.created_at, measured_at=run.c.created_at)
        )
