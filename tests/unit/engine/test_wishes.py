"""One thread of a process learns what somebody asked to stop, whatever it is."""

from __future__ import annotations

import pytest
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row
from tests.rigs.plans import make_plan

from diskbench.engine.matrix import run_cells
from diskbench.engine.matrix.run_cells import follow_wishes
from diskbench.engine.session import open_session
from diskbench.engine.trial.stop import Stop
from diskbench.engine.work import cancel
from diskbench.store.campaigns import request_cancel, save_campaign
from diskbench.store.rows import save_plan

ALONE = "01jx0000000000000000000001"
OF_CELL = "01jy0000000000000000000001"
LONGEST_S = 60


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.setattr(run_cells, "WISHES_EVERY_S", 0.01)
    made = open_session(f"sqlite:///{tmp_path}/rows.db", f"file://{tmp_path}/evidence")
    yield made
    made.close()


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
    request_cancel(session.database, ALONE)
    request_cancel(session.database, OF_CELL)
    assert stop.of(OF_CELL).wait(LONGEST_S)
    assert not stop.asked(ALONE)
