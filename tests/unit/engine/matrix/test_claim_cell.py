"""Which cells a process takes: those that nobody has, and those of processes that died."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from tests.rigs.plans import make_plan

from diskbench.engine.durable import cells
from diskbench.engine.matrix.run_cells import take
from diskbench.engine.session import Session, open_session
from diskbench.store.cells import cell_of_trial
from diskbench.store.rows import save_plan

AT_WORK: Any = SimpleNamespace(is_over=False, state="PENDING")


@pytest.fixture
def session(tmp_path, monkeypatch) -> Iterator[Session]:
    made = open_session(f"sqlite:///{tmp_path}/rows.db", (tmp_path / "evidence").as_uri())
    monkeypatch.setattr(cells, "go_on", lambda *_: None)
    yield made
    made.close()


def owner_after(session: Session, *, alive: set[str]) -> tuple[bool, str | None]:
    """Whether this process took a cell of the process `other`, and who owns it then."""
    plan = make_plan()
    save_plan(session.database, plan, session.evidence.url, owner="other")
    cell = cell_of_trial(session.database, plan.trial_id)
    assert cell is not None
    stations: Any = SimpleNamespace(session=session)
    took = take(session, stations, cell, AT_WORK, alive)
    after = cell_of_trial(session.database, plan.trial_id)
    assert after is not None
    return took, after.owner


def test_the_cell_of_a_living_process_is_left_to_it(session):
    assert owner_after(session, alive={"other", session.executor_id}) == (False, "other")


def test_the_cell_of_a_dead_process_is_taken(session):
    me = session.executor_id
    assert owner_after(session, alive={me}) == (True, me)
