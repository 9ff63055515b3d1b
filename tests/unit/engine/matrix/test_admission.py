"""Giving cells their turn."""

import pytest
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row

from diskbench.engine.matrix.admission import admit_cells
from diskbench.engine.matrix.campaign import retry_cells
from diskbench.model.matrix import Limits
from diskbench.store.campaigns import (
    claim_campaign,
    claim_cell,
    find_campaign,
    load_campaign,
    load_cells,
    request_end,
    save_campaign,
    update_cell,
)
from diskbench.store.machines import MachineRecord


@pytest.fixture
def begun(database):
    """Begins a matrix with these cells, and gives it its first turn."""

    def begin(cells, **limits):
        save_campaign(database, campaign_row(limits=Limits(**limits)), cells)
        return admit_cells(database, load_campaign(database, CAMPAIGN))

    return begin


def states(database):
    return [cell.state for cell in load_cells(database, CAMPAIGN)]


def again(database, **changes):
    return admit_cells(database, find_campaign(database, CAMPAIGN), **changes)


def test_cells_that_may_begin_are_queued_once_under_a_trial_of_their_own(database, begun):
    begun([cell_row(n) for n in range(3)], max_parallel=2)
    cells = load_cells(database, CAMPAIGN)
    assert [cell.state for cell in cells] == ["queued", "queued", "waiting"]
    assert [cell.attempt for cell in cells] == [1, 1, 0]
    assert len({cell.trial_id for cell in cells[:2]}) == 2
    again(database)
    assert load_cells(database, CAMPAIGN) == cells


def test_what_is_cancelled_before_its_turn_ends_the_matrix(database, begun):
    begun([cell_row(n) for n in range(2)], max_parallel=1)
    request_end(database, CAMPAIGN)
    again(database)
    assert states(database) == ["queued", "cancelled"]
    (first, _) = load_cells(database, CAMPAIGN)
    now = "2026-11-21T12:00:00.000000+00:00"
    update_cell(database, first.trial_id, state="cancelled", finished_at=now)
    again(database)
    assert find_campaign(database, CAMPAIGN).state == "done"


def test_cells_without_a_result_get_their_turn_again(database, begun):
    begun([cell_row(0, cost_usd=9.0), cell_row(1, cost_usd=1.0)], budget=5.0)
    assert states(database) == ["refused", "queued"]
    assert retry_cells(database, find_campaign(database, CAMPAIGN)) == 1
    first, _ = load_cells(database, CAMPAIGN)
    assert (first.state, first.error, first.attempt) == ("waiting", None, 0)


def test_a_cell_keeps_the_time_of_its_first_owner_and_its_end_ends_the_matrix(database, begun):
    begun([cell_row(0)])
    (cell,) = load_cells(database, CAMPAIGN)
    assert cell.started_at is None
    claim_cell(database, cell.trial_id, owner="me", previous=None)
    (mine,) = load_cells(database, CAMPAIGN)
    assert mine.started_at is not None
    claim_cell(database, cell.trial_id, owner="you", previous="me")
    assert load_cells(database, CAMPAIGN)[0].started_at == mine.started_at
    now = "2026-11-21T12:00:00.000000+00:00"
    update_cell(database, cell.trial_id, state="done", finished_at=now)
    assert again(database) is not None
    assert find_campaign(database, CAMPAIGN).state == "done"


def test_the_place_of_a_cell_that_ended_is_given_to_the_next(database, begun):
    begun([cell_row(n) for n in range(3)], max_parallel=1)
    update_cell(database, load_cells(database, CAMPAIGN)[0].trial_id, state="done")
    _, count = again(database)
    assert (count, states(database)) == (1, ["done", "queued", "waiting"])


def test_a_process_begins_the_cells_that_it_has_room_for(database):
    campaign = campaign_row(limits=Limits(max_parallel=6))
    save_campaign(database, campaign, [cell_row(n) for n in range(9)])
    assert [again(database, room=room)[1] for room in (2, 0, 8)] == [2, 0, 4]
    assert states(database) == ["queued"] * 6 + ["waiting"] * 3


def test_a_process_without_room_still_refuses_what_may_never_begin(database):
    save_campaign(database, campaign_row(), [cell_row(n) for n in range(30)])
    request_end(database, CAMPAIGN)
    again(database, room=0)
    assert set(states(database)) == {"cancelled"}


@pytest.mark.parametrize("changes", [{"reaches": lambda _: False}, {"admits": False}])
def test_a_process_that_does_not_reach_a_cell_or_is_about_to_end_leaves_it(database, changes):
    save_campaign(database, campaign_row(), [cell_row(0)])
    assert again(database, **changes)[1] == 0
    assert states(database) == ["waiting"]
    assert claim_campaign(database, CAMPAIGN, owner="me", previous=None)
    assert not claim_campaign(database, CAMPAIGN, owner="you", previous=None), "only one wins"


def test_an_idle_shared_machine_takes_a_cell_though_every_place_is_taken_by_machines(database):
    cells = [cell_row(n, machine=f"m{n % 4}") for n in range(8)]
    cells[0] = cells[0].model_copy(update={"state": "measuring", "trial_id": "t0"})
    save_campaign(database, campaign_row(limits=Limits(max_parallel=2)), cells)
    standing = [
        MachineRecord.model_construct(campaign_id=CAMPAIGN, name=name) for name in ("m0", "m1")
    ]
    assert again(database, machines=standing)[1] == 1
    queued = [cell.machine for cell in load_cells(database, CAMPAIGN) if cell.state == "queued"]
    assert queued == ["m1"]
