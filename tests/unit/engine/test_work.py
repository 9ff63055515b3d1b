"""Which work an id means, for every command that takes one."""

from __future__ import annotations

import pytest
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row
from tests.rigs.plans import make_plan

from diskbench.engine.processes import enrol
from diskbench.engine.work import abandoned_work, cancel, find_work
from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.ids import short
from diskbench.store.campaigns import asked_to_stop, find_campaign, save_campaign
from diskbench.store.cells import end_run_cell, load_cells
from diskbench.store.database import open_database
from diskbench.store.rows import save_plan

ALONE = "01jx0000000000000000000001"
OF_CELL = "01jy0000000000000000000001"


@pytest.fixture
def database(tmp_path):
    """One trial of a dead process, and a matrix of a cell at work and one that waits."""
    engine = open_database(f"sqlite:///{tmp_path}/rows.db")
    plan = make_plan((ALONE,), campaign_id="01jw0000000000000000000001")
    save_plan(engine, plan, "file:///evidence", owner="dead")
    measuring = cell_row(0, state="measuring", trial_id=OF_CELL, owner="dead", attempt=1)
    save_campaign(engine, campaign_row(queue="matrix-x"), [measuring, cell_row(1)])
    yield engine
    engine.dispose()


def test_every_kind_of_id_and_its_beginning_means_one_thing(database):
    waiting = f"{CAMPAIGN}/1"
    names = [ALONE, ALONE[:5], OF_CELL, OF_CELL[:8], CAMPAIGN, waiting]
    assert [one.id for one in find_work(database, names)] == [ALONE, OF_CELL, CAMPAIGN, waiting]


def test_last_is_the_newest_unfinished_work_and_a_matrix_has_a_name(database):
    name = find_campaign(database, CAMPAIGN).name
    for typed, newest in zip(("last", "last~1", name), (CAMPAIGN, OF_CELL, CAMPAIGN), strict=True):
        assert [work.id for work in find_work(database, [typed])] == [newest]
    assert find_campaign(database, "last").campaign_id == CAMPAIGN


def test_what_has_ended_is_named_with_the_command_that_shows_it(database):
    ended = "01jv0000000000000000000abc"
    save_plan(database, make_plan((ended,)), "file:///evidence", owner="other")
    end_run_cell(database, ended)
    with pytest.raises(InvalidValue, match="has ended") as refused:
        find_work(database, [ended])
    assert "results show 00000abc" in refused.value.advice


def test_what_is_not_there_and_what_fits_several_is_refused(database):
    for name, kind in (("nothing", UnknownName), ("01j", InvalidValue), ("", InvalidValue)):
        with pytest.raises(kind):
            find_work(database, [name])


def test_a_matrix_is_cancelled_by_the_command_that_cancels_a_run(database):
    asked = cancel(database, [CAMPAIGN])
    assert asked.lines == (f"{short(CAMPAIGN)} was asked to stop",)
    assert [one.campaign_id for one in asked.unattended] == [CAMPAIGN]
    assert find_campaign(database, CAMPAIGN).state == "cancelling"
    assert asked_to_stop(database, "dead") == {OF_CELL}


def test_a_cell_that_waits_for_its_first_turn_is_cancelled(database):
    (line,) = cancel(database, [f"{CAMPAIGN}/1"]).lines
    assert "will not be measured" in line
    assert [one.state for one in load_cells(database, CAMPAIGN)] == ["measuring", "cancelled"]


def test_nothing_is_asked_when_one_of_several_is_refused(database):
    with pytest.raises(InvalidValue, match="has died"):
        cancel(database, [OF_CELL, ALONE])
    assert not load_cells(database, CAMPAIGN)[0].cancel
    assert not asked_to_stop(database, "dead")


def test_resume_takes_a_run_a_cell_and_a_matrix(database):
    plans, matrices = abandoned_work(database, [ALONE, OF_CELL, CAMPAIGN])
    assert [plan.trial_id for plan in plans] == [ALONE]
    assert [one.campaign_id for one in matrices] == [CAMPAIGN]


def test_what_a_living_process_runs_is_not_resumed(database):
    enrol(database, "dead")  # it lives after all
    with pytest.raises(InvalidValue, match="process that is alive"):
        abandoned_work(database, [ALONE])
