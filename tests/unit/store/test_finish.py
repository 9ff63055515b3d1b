import json

import pytest
from tests.rigs.dump import dump
from tests.rigs.measured import TIMES, recorded
from tests.rigs.plans import make_plan

from diskbench.errors import StoreUnavailable
from diskbench.model.outcome import Problem
from diskbench.store import archive
from diskbench.store.audits import run_audits
from diskbench.store.finish import finish_run
from diskbench.store.parse_step import step_result
from diskbench.store.query import find_runs
from diskbench.store.rebuild import rebuild
from diskbench.store.rows import unfinished_trials
from diskbench.store.step_rows import load_results

pytestmark = pytest.mark.slow


@pytest.fixture
def measured(database, evidence, plan, fio_files):
    return recorded(database, evidence, plan, fio_files)


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


def test_the_first_end_is_kept_and_the_last_run_unclaims_the_trial(database, evidence, measured):
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


def test_no_row_says_finished_before_evidence_is_kept(database, evidence, measured, monkeypatch):
    def full(prefix):
        assert archive.read_manifest(evidence, measured.run_ids[0]) is not None
        assert prefix == archive.run_prefix(measured.run_ids[0])
        raise StoreUnavailable("no room", advice="make some")

    monkeypatch.setattr(evidence, "settle", full)
    with pytest.raises(StoreUnavailable):
        finish_run(database, evidence, measured, 0, "done", None)
    [row] = [r for r in find_runs(database) if r.run_id == measured.run_ids[0]]
    assert row.state != "done"


# A run is audited when it ends: what does not hold is in its rows, and in those of a rebuild.


def audited_run(database, evidence, fio_files, *, share, more=""):
    """A run whose second step has a log that sums up to so many times what its JSON counts."""
    plan = make_plan(("01kq8z6rj0aaaaaaaaaaaaaaa0",))
    step, files = fio_files[1]
    job = json.loads(files["fio.json"])["jobs"][0]["read"]
    seconds = max(job["runtime"], 1) / 1000
    rate = round(share * job["total_ios"] / seconds)
    rows = [f"{1000 * at}, {rate}, 0, 0, 0\n" for at in range(1, int(seconds) + 1)]
    rows.append(f"{job['runtime']}, {rate}, 0, 0, 0\n")
    step = step.model_copy(update={"job": step.job + more})
    logged = (step, {**files, "fio_iops.1.log": "".join(rows).encode()})
    return recorded(database, evidence, plan, (fio_files[0], logged))


def doubts(steps):
    return [(w.step, w.message) for s in steps for w in s.warnings if w.code == "figures-disagree"]


def test_logs_that_agree_are_no_doubt_and_kept_audits_may_be_damaged(database, evidence, fio_files):
    plan = audited_run(database, evidence, fio_files, share=1)
    finish_run(database, evidence, plan, 0, "done", None)
    (run_id,) = plan.run_ids
    assert doubts(load_results(database, run_id)[run_id]) == []
    audits = {
        one.step: {c.name: c.holds for c in one.checks} for one in run_audits(evidence, run_id)
    }
    assert audits["read"] == {
        "bytes": True, "rate": True, "percentiles": True, "end": True, "logs": True,
    }  # fmt: skip
    assert audits["write"]["logs"] is None
    finish_run(database, evidence, plan, 0, "done", None)
    first = run_audits(evidence, run_id)
    (key,) = [key for key in evidence.list(f"runs/{run_id}/derived") if "audits-" in key]
    evidence.replace(key, b"{")
    assert run_audits(evidence, run_id) == first


def test_the_logs_of_a_job_that_clears_its_counts_are_not_compared(database, evidence, fio_files):
    plan = audited_run(database, evidence, fio_files, share=5, more="\nlatency_target=10ms\n")
    finish_run(database, evidence, plan, 0, "done", None)
    assert doubts(load_results(database, *plan.run_ids)[plan.run_ids[0]]) == []


def test_logs_that_disagree_are_a_doubt_also_of_rebuilt_rows(database, evidence, fio_files, other):
    plan = audited_run(database, evidence, fio_files, share=5)
    (run_id,) = plan.run_ids
    assert doubts(load_results(database, run_id)[run_id]) == []
    for _ in range(2):  # a run may be ended twice
        finish_run(database, evidence, plan, 0, "done", None)
        ((step, message),) = doubts(load_results(database, run_id)[run_id])
        assert step == "read"
        assert message.startswith("logs: the logs sum up to ")
    assert len([key for key in evidence.list(f"runs/{run_id}/derived") if "audits-" in key]) == 1
    rebuild(other, evidence)
    assert dump(other) == dump(database)
