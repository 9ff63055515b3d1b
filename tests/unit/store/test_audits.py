"""A run is audited when it ends: what does not hold is in its rows, and in those of a rebuild."""

import json

import pytest
from tests.rigs.dump import dump
from tests.rigs.measured import measure
from tests.rigs.plans import make_plan, save_plan

from diskbench.store import archive
from diskbench.store.audits import run_audits
from diskbench.store.finish import finish_run
from diskbench.store.rebuild import rebuild
from diskbench.store.step_rows import load_results

pytestmark = pytest.mark.slow


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
    save_plan(database, plan, evidence.url)
    archive.write_plan(evidence, plan)
    measure(database, evidence, plan, 0, (fio_files[0], logged))
    return plan


def doubts(steps):
    return [(w.step, w.message) for s in steps for w in s.warnings if w.code == "figures-disagree"]


def test_logs_that_agree_are_no_doubt_and_what_was_kept_of_an_audit_may_be_damaged(
    database, evidence, fio_files
):
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


def test_logs_that_do_not_agree_are_a_doubt_of_the_rows_and_of_those_of_a_rebuild(
    database, evidence, fio_files, other
):
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
