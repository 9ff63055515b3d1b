"""Which cells a process takes: those that nobody has, and those of processes that died.
One thread of a process learns what somebody asked to stop, whatever it is."""

import os
import signal
import threading
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row
from tests.rigs.plans import make_plan, save_plan

from diskbench.engine.durable import process
from diskbench.engine.durable.process import follow_wishes, take
from diskbench.engine.matrix import worker as worker_module
from diskbench.engine.matrix.campaign import changed_cells
from diskbench.engine.matrix.worker import serve
from diskbench.engine.processes import BEAT_S
from diskbench.engine.trial.stop import Stop
from diskbench.engine.work import cancel
from diskbench.errors import Suspended
from diskbench.store import schema
from diskbench.store.campaigns import cell_of_trial, save_campaign, update_cell


@pytest.fixture
def session(session, monkeypatch):
    monkeypatch.setattr(process, "go_on", lambda *_: None)
    monkeypatch.setattr(process, "WISHES_EVERY_S", 0.01)
    return session


def owner_after(session, *, alive):
    """Whether this process took a cell of the process `other`, and who owns it then."""
    plan = make_plan()
    save_plan(session.database, plan, session.evidence.url, owner="other")
    cell = cell_of_trial(session.database, plan.trial_id)
    took = take(SimpleNamespace(session=session), cell, "PENDING", alive)
    return took, cell_of_trial(session.database, plan.trial_id).owner


def test_the_cell_of_a_living_process_is_left_to_it_and_that_of_a_dead_one_is_taken(session):
    me = session.executor_id
    assert owner_after(session, alive={"other", me}) == (False, "other")
    assert owner_after(session, alive={me}) == (True, me)


ALONE = "01jx0000000000000000000001"
OF_CELL = "01jy0000000000000000000001"
LONGEST_S = 60


@pytest.mark.parametrize(
    ("name", "stopped"), [(ALONE, ALONE), (OF_CELL, OF_CELL), (CAMPAIGN, OF_CELL)]
)
def test_a_trial_a_cell_and_a_matrix_are_stopped_by_one_look(session, name, stopped):
    me = session.executor_id
    plan = make_plan((ALONE,), campaign_id="01jw0000000000000000000001")
    save_plan(session.database, plan, "file:///evidence", owner=me)
    cell = cell_row(0, state="measuring", trial_id=OF_CELL, owner=me, attempt=1)
    save_campaign(session.database, campaign_row(queue="matrix-x", owner=me), [cell])
    stop = Stop()
    follow_wishes(session, stop)
    cancel(session.database, [name])
    assert stop.of(stopped).wait(LONGEST_S)
    assert not stop.asked(OF_CELL if stopped == ALONE else ALONE)


def test_a_wish_of_another_process_is_not_followed(session):
    other = make_plan((ALONE,), campaign_id="01jw0000000000000000000001")
    save_plan(session.database, other, "file:///evidence", owner="another")
    stop = Stop()
    follow_wishes(session, stop)
    mine = make_plan((OF_CELL,), campaign_id="01jw0000000000000000000002")
    save_plan(session.database, mine, "file:///evidence", owner=session.executor_id)
    update_cell(session.database, ALONE, cancel=True)
    update_cell(session.database, OF_CELL, cancel=True)
    assert stop.of(OF_CELL).wait(LONGEST_S)
    assert not stop.asked(ALONE)


@pytest.fixture
def database(database):
    save_campaign(database, campaign_row(), [cell_row(n) for n in range(20)])
    return database


@pytest.fixture
def look(database):
    """Set cells to their states, look, and return the position and state of those that changed."""
    known = {}

    def looked(**states):
        cell = schema.cell
        with database.begin() as connection:
            for state, positions in states.items():
                connection.execute(
                    sa.update(cell).where(cell.c.position.in_(positions)).values(state=state)
                )
        return [(one.position, one.state) for one in changed_cells(database, CAMPAIGN, known)]

    return looked


def test_a_cell_is_told_when_it_begins_when_it_ends_and_when_it_is_tried_again(look):
    assert look() == []
    assert look(queued=[1, 0]) == [(0, "queued"), (1, "queued")]
    assert look(measuring=[0], done=[1]) == [(0, "measuring"), (1, "done")]
    assert look() == []
    assert look(waiting=[0]) == [(0, "waiting")]
    look(failed=[2, 4])
    assert look(waiting=[2]) == [(2, "waiting")]
    assert look(failed=[2]) == [(2, "failed")]


class Masked:
    """A worker whose database driver loses what the signal raised, once."""

    admits = True

    def __init__(self):
        self.stop, self.wake, self.ticks = Stop(), threading.Event(), 0

    def wait(self):
        assert self.wake.wait(60)
        self.wake.clear()

    def tick(self):
        self.ticks += 1
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            threading.Event().wait(60)
        except Suspended:
            return
        raise AssertionError("no signal came")


def test_a_worker_whose_signal_was_lost_in_a_driver_ends_and_its_looks_are_no_gap():
    worker = Masked()
    with pytest.raises(Suspended):
        serve(worker, drains=False)
    assert worker.ticks == 1
    assert worker_module.TICK_S < BEAT_S / 2
