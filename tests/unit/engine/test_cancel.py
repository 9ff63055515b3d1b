"""`diskbench cancel` of a cell, and what else leaves cells to their matrix."""

from __future__ import annotations

import pytest
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row
from tests.rigs.plans import CAMPAIGN_ID, TRIAL_ID, make_plan

from diskbench.engine.cleanup.gc import is_reached
from diskbench.engine.matrix.campaign import retry_cells
from diskbench.engine.processes import enrol, trials_at_work
from diskbench.engine.work import abandoned_plans, abandoned_work, cancel
from diskbench.errors import InvalidValue, UnknownName
from diskbench.store.campaigns import asked_to_stop, find_campaign, save_campaign
from diskbench.store.cells import claim_cell, load_cells
from diskbench.store.database import open_database
from diskbench.store.leases import Lease
from diskbench.store.rows import end_run, save_plan

assert CAMPAIGN == CAMPAIGN_ID


@pytest.fixture
def database(tmp_path):
    engine = open_database(f"sqlite:///{tmp_path}/rows.db")
    yield engine
    engine.dispose()


def begun(database, *cells, **changes):
    save_campaign(database, campaign_row(**changes), cells)


def the_cell(database):
    return load_cells(database, CAMPAIGN)[0]


@pytest.mark.parametrize("state", ["waiting", "queued"])
def test_a_cell_that_nobody_has_is_cancelled_at_once(database, state):
    begun(database, cell_row(0, state=state, trial_id=TRIAL_ID, attempt=1), cell_row(1))
    (told,) = cancel(database, [TRIAL_ID[:20]]).lines
    assert "will not be measured" in told
    assert [cell.state for cell in load_cells(database, CAMPAIGN)] == ["cancelled", "waiting"]
    assert the_cell(database).finished_at is not None


def test_a_cell_in_hand_is_asked_to_stop_and_marked(database):
    begun(database, cell_row(0, state="measuring", trial_id=TRIAL_ID, owner="e1"))
    save_plan(database, make_plan(), "file:///evidence", owner="e1")
    (told,) = cancel(database, [TRIAL_ID]).lines
    assert "was asked to stop" in told
    assert (the_cell(database).state, the_cell(database).cancel) == ("measuring", True)
    assert asked_to_stop(database, "e1") == {TRIAL_ID}


def test_a_cell_that_was_cancelled_may_be_given_its_turn_again(database):
    begun(database, cell_row(0, state="queued", trial_id=TRIAL_ID, attempt=1))
    cancel(database, [TRIAL_ID])
    assert retry_cells(database, find_campaign(database, CAMPAIGN)) == 1
    assert (the_cell(database).state, the_cell(database).cancel) == ("waiting", None)


def test_a_name_of_nothing_that_runs_is_refused(database):
    begun(database, cell_row(0, state="done", trial_id=TRIAL_ID, finished_at="2026"))
    with pytest.raises(UnknownName):
        cancel(database, [TRIAL_ID])


@pytest.mark.parametrize("queue", [None, "matrix-x"])
def test_a_cell_is_resumed_with_its_matrix_and_never_as_a_run(database, queue):
    begun(database, cell_row(0, state="measuring", trial_id=TRIAL_ID), queue=queue)
    save_plan(database, make_plan(), "file:///evidence", owner="dead")
    assert abandoned_plans(database) == []
    if queue is None:
        with pytest.raises(InvalidValue) as raised:
            abandoned_work(database, [TRIAL_ID])
        assert "worker" in raised.value.advice
    else:
        plans, (matrix,) = abandoned_work(database, [TRIAL_ID])
        assert (plans, matrix.campaign_id) == ([], CAMPAIGN)


def test_a_cell_is_at_work_before_its_trial_is_taken_over_and_after_its_last_run(database):
    begun(database, cell_row(0, state="measuring", trial_id=TRIAL_ID))
    save_plan(database, make_plan(), "file:///evidence", owner="dead")
    enrol(database, "lives")
    assert trials_at_work(database) == set()
    assert claim_cell(database, TRIAL_ID, owner="lives", previous=None)
    assert trials_at_work(database) == {TRIAL_ID}
    for run_id in make_plan().run_ids:
        end_run(database, run_id, "done", None, started_at=None, finished_at="2026")
    assert trials_at_work(database) == {TRIAL_ID}


def test_a_worker_sweeps_where_it_reaches(database):
    cell = cell_row(0, provider="vsphere", partition="vsphere/dc", route="vsphere/site-a")
    begun(database, cell)
    save_plan(database, make_plan(), "file:///evidence", owner="dead")
    of_site = Lease(lease_id=TRIAL_ID, provider="vsphere")
    assert is_reached(database, of_site, ("vsphere/site-a",))
    assert not is_reached(database, of_site, ("aws", "vsphere/site-b"))
    of_nobody = Lease(lease_id="another", provider="aws")
    assert is_reached(database, of_nobody, ("aws/*",))
    assert not is_reached(database, of_nobody, ("vsphere",))
