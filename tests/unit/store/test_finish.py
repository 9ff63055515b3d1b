"""How a run is finished, and what a rebuild makes of the records beside the runs."""

import json
import shutil

import pytest
import sqlalchemy as sa
from tests.rigs.database import dump
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row
from tests.rigs.measured import TIMES, recorded
from tests.rigs.plans import make_plan, save_plan

from diskbench.errors import StepsMissing, StoreUnavailable
from diskbench.model.outcome import Problem
from diskbench.store import archive, kept_rows, schema
from diskbench.store.audits import run_audits
from diskbench.store.campaigns import list_campaigns, load_cells, save_campaign, update_cell
from diskbench.store.database import transaction
from diskbench.store.finish import finish_run
from diskbench.store.leases import Lease, create_lease, load_lease, release_lease
from diskbench.store.parse_step import step_result
from diskbench.store.query import find_runs
from diskbench.store.rebuild import rebuild
from diskbench.store.rows import add_timing, evidence_url_of, load_timing, unfinished_trials
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


MATRIX = "01kq8z6rj0mmmmmmmmmmmmmmmm"


def of(table, database):
    with transaction(database) as connection:
        query = sa.select(table).order_by(*table.primary_key.columns)
        return [dict(row) for row in connection.execute(query).mappings()]


def a_matrix(database, plan, *, states=("done", "waiting")):
    told = {"name": "two", "spec": {"text": "x"}, "seed": 3, "order": "random", "queue": "q"}
    told |= {"created_at": "2026-11-22T10:00:00.000000+00:00"}
    cells = []
    for n, state in enumerate(states):
        of = {"key": f"cell{n}", "block": f"block{n}", "cell": plan.cell, "state": state}
        of |= {"attempt": int(state != "waiting"), "trial_id": None if n else plan.trial_id}
        of |= {"finished_at": "2026-11-22T10:10:00.000000+00:00"} if state == "done" else {}
        cells.append(cell_row(n, campaign_id=MATRIX, **of))
    save_campaign(database, campaign_row(campaign_id=MATRIX, **told), cells)


def test_lease_and_timing_come_back(database, evidence, other, fio_files):
    plan = make_plan(("01kq8z6rj0aaaaaaaaaaaaaaa0",))
    recorded(database, evidence, plan, fio_files)
    create_lease(database, Lease(lease_id=plan.trial_id, provider="ssh", run_ids=plan.run_ids))
    finish_run(database, evidence, plan, 0, "done", None)
    release_lease(database, plan.trial_id, at="2026-11-22T10:10:00.000000+00:00")
    add_timing(database, plan.trial_id, {"rent": 1.5, "collect": 0.25})
    kept_rows.keep_lease(evidence, load_lease(database, plan.trial_id))
    kept_rows.keep_trial(database, evidence, plan.trial_id)
    assert not rebuild(other, evidence).records
    assert load_lease(other, plan.trial_id) == load_lease(database, plan.trial_id)
    assert list(load_timing(other, plan.trial_id).items()) == [("rent", 1.5), ("collect", 0.25)]


def test_a_matrix_that_ended_comes_back_as_it_was(database, evidence, other, plan):
    a_matrix(database, plan, states=("done", "done"))
    ending = {"state": "done", "finished_at": "2026-11-22T10:11:00.000000+00:00"}
    kept_rows.keep_matrix(database, evidence, MATRIX, ending=ending)
    for _ in range(2):
        rebuild(other, evidence)
        assert of(schema.cell, other) == of(schema.cell, database)
        (found,) = of(schema.matrix, other)
        (was,) = of(schema.matrix, database)
        assert found == was | ending


def test_a_matrix_that_did_not_end_begins_nowhere_else(database, evidence, other, plan):
    a_matrix(database, plan, states=("waiting", "waiting"))
    kept_rows.keep_matrix(database, evidence, MATRIX)
    update_cell(database, plan.trial_id, state="done", attempt=1, cost_usd=2.5, finished_at="2027")
    kept_rows.keep_trial(database, evidence, plan.trial_id)
    rebuild(other, evidence)
    (matrix,) = list_campaigns(other)
    assert (matrix.name, matrix.state) == ("two", "done")
    first, second = load_cells(other, MATRIX)
    assert (first.state, first.cost_usd, first.block) == ("done", 2.5, "block0")
    assert (second.state, second.error_kind) == ("cancelled", "NotRebuilt")
    assert second.finished_at is not None


def test_a_matrix_that_runs_here_is_left_alone(database, evidence, plan):
    a_matrix(database, plan)
    kept_rows.keep_matrix(database, evidence, MATRIX, ending={"state": "done"})
    before = of(schema.matrix, database), of(schema.cell, database)
    rebuild(database, evidence)
    assert (of(schema.matrix, database), of(schema.cell, database)) == before


@pytest.mark.parametrize(
    "data", [b"{", b'{"format": 1, "matrix": {}}', b'{"format": 1, "matrix": {"campaign_id": "x"}}']
)
def test_an_unreadable_record_is_named_and_costs_no_others(database, evidence, other, plan, data):
    a_matrix(database, plan, states=("done", "done"))
    kept_rows.keep_matrix(database, evidence, MATRIX, ending={"state": "done"})
    evidence.replace(kept_rows.record_key("matrices", "broken"), data)
    ((key, _),) = rebuild(other, evidence).records
    assert key == kept_rows.record_key("matrices", "broken")
    assert [one.name for one in list_campaigns(other)] == ["two"]


def test_each_step_that_lies_in_no_store_is_named(database, evidence, other, fio_files, tmp_path):
    plan = make_plan(("01kq8z6rj0aaaaaaaaaaaaaaa0",))
    recorded(database, evidence, plan, fio_files)
    folder = tmp_path / "evidence" / archive.run_prefix(plan.run_ids[0])
    shutil.move(folder / "steps" / "000-write", tmp_path / "away")
    finish_run(database, evidence, plan, 0, "done", None)  # its other step was kept elsewhere
    manifest = archive.read_manifest(evidence, plan.run_ids[0])
    assert [one.name for one in manifest.missing] == ["000-write"]
    done = rebuild(other, evidence)
    ((run_id, error),) = done.failed
    assert (run_id, type(error)) == (plan.run_ids[0], StepsMissing)
    assert [step for _, step, _ in done.missing] == ["000-write"]
    assert dump(other)["diskbench_run"] == []
    shutil.move(tmp_path / "away", folder / "steps" / "000-write")  # brought from the other store
    assert not rebuild(other, evidence).failed
    assert load_results(other, run_id) == load_results(database, run_id)


def test_all_steps_whose_folders_are_gone_are_named(database, evidence, other, fio_files, tmp_path):
    plan = make_plan(("01kq8z6rj0aaaaaaaaaaaaaaa0",))
    recorded(database, evidence, plan, fio_files)
    finish_run(database, evidence, plan, 0, "interrupted", None)
    shutil.rmtree(tmp_path / "evidence" / archive.run_prefix(plan.run_ids[0]) / "steps")
    assert [step for _, step, _ in rebuild(other, evidence).missing] == ["000-write", "001-read"]


def test_a_trial_says_where_its_evidence_lies(database, evidence, plan):
    assert evidence_url_of(database, plan.trial_id) is None
    save_plan(database, plan, evidence.url)
    assert evidence_url_of(database, plan.trial_id) == evidence.url


KEY = kept_rows.record_key("matrices", CAMPAIGN)


def test_the_end_that_another_process_wrote_meanwhile_stays(database, evidence, monkeypatch):
    save_campaign(database, campaign_row(), [cell_row(0)])
    late = evidence.list

    def ended_meanwhile(prefix):
        found = late(prefix)
        kept_rows.keep_matrix(database, evidence, CAMPAIGN, ending={"state": "done"})
        return found

    monkeypatch.setattr(evidence, "list", ended_meanwhile)
    kept_rows.keep_begun_matrix(database, evidence, CAMPAIGN)
    assert json.loads(evidence.get(KEY))["matrix"]["state"] == "done"
