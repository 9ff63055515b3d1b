"""What a rebuild makes of the records beside the runs, and says of steps that are missing.
The record of a matrix: built once for all of its workers."""

import json
import shutil

import pytest
import sqlalchemy as sa
from tests.rigs.dump import dump
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row
from tests.rigs.measured import recorded
from tests.rigs.plans import make_plan, save_plan

from diskbench.errors import StepsMissing
from diskbench.store import archive, kept_rows, schema
from diskbench.store.campaigns import (
    list_campaigns,
    load_cells,
    save_campaign,
    update_cell,
)
from diskbench.store.database import transaction
from diskbench.store.finish import finish_run
from diskbench.store.leases import Lease, create_lease, load_lease, release_lease
from diskbench.store.rebuild import rebuild
from diskbench.store.rows import add_timing, evidence_url_of, load_timing
from diskbench.store.step_rows import load_results

pytestmark = pytest.mark.slow
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
