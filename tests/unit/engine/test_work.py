"""Which work an id means, for every command that takes one.
`diskbench cancel` of a cell, and what else leaves cells to their matrix."""

import pytest
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row
from tests.rigs.plans import TRIAL_ID, make_plan, save_plan

from diskbench.engine.cleanup.gc import is_reached
from diskbench.engine.matrix.campaign import retry_cells
from diskbench.engine.processes import enrol, trials_at_work
from diskbench.engine.work import abandoned_plans, abandoned_work, cancel, find_work
from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.ids import short
from diskbench.store.campaigns import (
    asked_to_stop,
    claim_cell,
    end_run_cell,
    find_campaign,
    load_cells,
    save_campaign,
)
from diskbench.store.leases import Lease
from diskbench.store.rows import end_run

ALONE = "01jx0000000000000000000001"
OF_CELL = "01jy0000000000000000000001"
DONE = "01jz0000000000000000000001"


@pytest.fixture
def busy(database):
    """One trial of a dead process, and a matrix of a cell at work and one that waits."""
    plan = make_plan((ALONE,), campaign_id="01jw0000000000000000000001")
    save_plan(database, plan, "file:///evidence", owner="dead")
    measuring = cell_row(0, state="measuring", trial_id=OF_CELL, owner="dead", attempt=1)
    done = cell_row(2, state="done", trial_id=DONE, finished_at="2026")
    save_campaign(database, campaign_row(queue="matrix-x"), [measuring, cell_row(1), done])
    return database


def test_every_kind_of_id_and_its_beginning_means_one_thing(busy):
    waiting = f"{CAMPAIGN}/1"
    names = [ALONE, ALONE[:5], OF_CELL, OF_CELL[:8], CAMPAIGN, waiting]
    assert [one.id for one in find_work(busy, names)] == [ALONE, OF_CELL, CAMPAIGN, waiting]


def test_last_is_the_newest_unfinished_work_and_a_matrix_has_a_name(busy):
    name = find_campaign(busy, CAMPAIGN).name
    for typed, newest in zip(("last", "last~1", name), (CAMPAIGN, OF_CELL, CAMPAIGN), strict=True):
        assert [work.id for work in find_work(busy, [typed])] == [newest]
    assert find_campaign(busy, "last").campaign_id == CAMPAIGN


def test_what_has_ended_is_named_with_the_command_that_shows_it_and_the_unknown_refused(busy):
    ended = "01jv0000000000000000000abc"
    save_plan(busy, make_plan((ended,)), "file:///evidence", owner="other")
    end_run_cell(busy, ended)
    with pytest.raises(InvalidValue, match="has ended") as refused:
        find_work(busy, [ended])
    assert "results show 00000abc" in refused.value.advice
    for name in ("nothing", DONE):
        with pytest.raises(UnknownName):
            find_work(busy, [name])
    for name in ("01j", ""):
        with pytest.raises(InvalidValue):
            find_work(busy, [name])


def test_a_matrix_is_cancelled_by_the_command_that_cancels_a_run(busy):
    lines, unattended = cancel(busy, [CAMPAIGN])
    assert lines == [f"{short(CAMPAIGN)} was asked to stop"]
    assert [one.campaign_id for one in unattended] == [CAMPAIGN]
    assert find_campaign(busy, CAMPAIGN).state == "cancelling"
    assert asked_to_stop(busy, "dead") == {OF_CELL}


def test_nothing_is_asked_when_one_of_several_is_refused(busy):
    with pytest.raises(InvalidValue, match="has died"):
        cancel(busy, [OF_CELL, ALONE])
    assert not the_cell(busy).cancel
    assert not asked_to_stop(busy, "dead")


def test_resume_takes_a_run_a_cell_and_a_matrix_but_not_of_a_living_process(busy):
    plans, matrices = abandoned_work(busy, [ALONE, OF_CELL, CAMPAIGN])
    assert [plan.trial_id for plan in plans] == [ALONE]
    assert [one.campaign_id for one in matrices] == [CAMPAIGN]
    enrol(busy, "dead")  # it lives after all
    with pytest.raises(InvalidValue, match="is being run by another process"):
        abandoned_work(busy, [ALONE])


def begun(database, *cells, **changes):
    save_campaign(database, campaign_row(**changes), cells)


def the_cell(database):
    return load_cells(database, CAMPAIGN)[0]


@pytest.mark.parametrize("state", ["waiting", "queued"])
def test_a_cell_that_nobody_has_is_cancelled_at_once_and_may_have_its_turn_again(database, state):
    begun(database, cell_row(0, state=state, trial_id=TRIAL_ID, attempt=1), cell_row(1))
    (told,), _ = cancel(database, [TRIAL_ID[:20]])
    assert "will not be measured" in told
    assert [cell.state for cell in load_cells(database, CAMPAIGN)] == ["cancelled", "waiting"]
    assert the_cell(database).finished_at is not None
    assert retry_cells(database, find_campaign(database, CAMPAIGN)) == 1
    assert (the_cell(database).state, the_cell(database).cancel) == ("waiting", None)


def test_a_cell_in_hand_is_asked_to_stop_and_marked(database):
    begun(database, cell_row(0, state="measuring", trial_id=TRIAL_ID, owner="e1"))
    save_plan(database, make_plan(), "file:///evidence", owner="e1")
    (told,), _ = cancel(database, [TRIAL_ID])
    assert "was asked to stop" in told
    assert (the_cell(database).state, the_cell(database).cancel) == ("measuring", True)
    assert asked_to_stop(database, "e1") == {TRIAL_ID}


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
    begun(database, cell_row(0, provider="vsphere", partition="vsphere/dc", route="vsphere/site-a"))
    save_plan(database, make_plan(), "file:///evidence", owner="dead")
    of_site = Lease(lease_id=TRIAL_ID, provider="vsphere")
    assert is_reached(database, of_site, ("vsphere/site-a",))
    assert not is_reached(database, of_site, ("aws", "vsphere/site-b"))
    of_nobody = Lease(lease_id="another", provider="aws")
    assert is_reached(database, of_nobody, ("aws/*",))
    assert not is_reached(database, of_nobody, ("vsphere",))
