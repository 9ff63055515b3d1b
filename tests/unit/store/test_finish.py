import pytest
from tests.rigs.measured import TIMES, measure
from tests.rigs.plans import save_plan

from diskbench.errors import StoreUnavailable
from diskbench.model.outcome import Problem
from diskbench.store import archive
from diskbench.store.finish import finish_run
from diskbench.store.parse_step import step_result
from diskbench.store.query import find_runs
from diskbench.store.rows import unfinished_trials
from diskbench.store.step_rows import load_results

pytestmark = pytest.mark.slow


@pytest.fixture
def measured(database, evidence, plan, fio_files):
    save_plan(database, plan, evidence.url)
    archive.write_plan(evidence, plan)
    measure(database, evidence, plan, 0, fio_files)
    return plan


def test_a_finished_run_has_a_manifest_that_names_every_file(database, evidence, measured):
    finish_run(database, evidence, measured, 0, "done", None)
    manifest = archive.read_manifest(evidence, measured.run_ids[0])
    assert [entry.step for entry in manifest.steps] == ["write", "read"]
    assert all(entry.has_rows for entry in manifest.steps)
    assert set(manifest.steps[0].files) == {
        "job.fio", "fio.json", "fio.exit", "stderr.txt", "samples.txt",
    }  # fmt: skip
    assert manifest.started_at is not None
    assert manifest.marks == {"emulated": False, "unverified": True, "imported": False}
    prefix = archive.run_prefix(measured.run_ids[0])
    kept = {key.removeprefix(f"{prefix}/") for key in evidence.list(prefix)}
    kept = {key for key in kept if not key.startswith("derived/")}
    named = {f"{e.folder}/{f.key}" for e in manifest.steps for f in e.files.values()}
    closing = {f"{e.folder}/step.json" for e in manifest.steps} | {"plan.json", "manifest.json"}
    assert kept == named | closing


def test_finishing_twice_keeps_the_first_end_and_the_trial_is_unclaimed_with_its_last_run(
    database, evidence, measured
):
    finish_run(database, evidence, measured, 0, "done", None)
    first = archive.read_manifest(evidence, measured.run_ids[0])
    finish_run(database, evidence, measured, 0, "failed", Problem(kind="X", message="late"))
    assert archive.read_manifest(evidence, measured.run_ids[0]) == first
    [row] = [r for r in find_runs(database) if r.run_id == measured.run_ids[0]]
    assert (row.state, row.error) == ("done", None)
    finish_run(database, evidence, measured, 0, "done", None)
    assert unfinished_trials(database) == [measured.trial_id]
    problem = Problem(kind="FioFailed", message="fio ended with status 1", advice="look")
    finish_run(database, evidence, measured, 1, "failed", problem)
    assert unfinished_trials(database) == []
    [row] = [r for r in find_runs(database) if r.run_id == measured.run_ids[1]]
    assert (row.state, row.error_kind) == ("failed", "FioFailed")
    assert (row.error, row.advice) == (problem.message, problem.advice)


def test_saved_steps_are_read_back_as_they_were(database, measured, fio_files):
    run_id = measured.run_ids[0]
    step, files = fio_files[0]
    saved = load_results(database, run_id)[run_id]
    assert saved[0] == step_result(step, run_id, files, measured.facts, **TIMES)
    assert [result.step for result in saved] == ["write", "read"]


def test_no_row_says_finished_before_its_evidence_is_on_the_disk(
    database, evidence, measured, monkeypatch
):
    def full(prefix):
        assert archive.read_manifest(evidence, measured.run_ids[0]) is not None
        assert prefix == archive.run_prefix(measured.run_ids[0])
        raise StoreUnavailable("no room", advice="make some")

    monkeypatch.setattr(evidence, "settle", full)
    with pytest.raises(StoreUnavailable):
        finish_run(database, evidence, measured, 0, "done", None)
    [row] = [r for r in find_runs(database) if r.run_id == measured.run_ids[0]]
    assert row.state != "done"
