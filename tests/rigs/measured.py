"""A run that was measured: its evidence kept and its rows saved, without a host."""

from tests.rigs.began import begin_run

from diskbench.store import archive
from diskbench.store.parse_step import step_result
from diskbench.store.step_rows import save_step

TIMES = {
    "started_at": "2026-11-21T10:00:00.000000+00:00",
    "finished_at": "2026-11-21T10:00:05.000000+00:00",
}


def measure(database, evidence, plan, run_index, fio_files):
    run_id = plan.run_ids[run_index]
    begin_run(database, run_id)
    for step, files in fio_files:
        record = archive.write_step_evidence(evidence, run_id, step, files, **TIMES)
        kept = archive.result_files(evidence, run_id, record)
        save_step(database, run_id, step_result(step, run_id, kept, plan.facts, **TIMES))
