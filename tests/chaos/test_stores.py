"""The database and the evidence store go away under a matrix, and come back."""

from __future__ import annotations

import pytest
from tests.chaos.conftest import Chaos

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "moment",
    [
        "before diskbench.store.rows:save_plan 1",
        "after diskbench.store.rows:save_plan 1",
        "before diskbench.store.rows:replace_draft 1",
        "before diskbench.store.rows:save_step 2",
        "before diskbench.store.rows:end_run 1",
        "before diskbench.store.leases:release_lease 1",
        "before diskbench.engine.durable.cells:enqueue 1",
    ],
)
def test_a_database_that_is_away_for_a_moment_is_waited_for(chaos: Chaos, moment: str) -> None:
    done = chaos.at(f"fail {moment}").run("matrix", "run", chaos.matrix(max_parallel=2))
    assert done.returncode == 0, done.stderr
    books = chaos.books()
    assert (books.cells, books.done, books.wrong) == (2, 2, ())


def test_a_database_that_goes_away_between_winning_a_cell_and_going_on_stops_nothing(
    chaos: Chaos,
) -> None:
    chaos.killed_at(
        "before diskbench.engine.stations:LiveStations.measure 1", "run", chaos.matrix()
    )
    moment = "fail before diskbench.engine.durable.process:move_here 1"
    done = chaos.at(moment).run("matrix", "resume")
    assert done.returncode == 0, done.stderr
    books = chaos.books()
    assert (books.cells, books.done, books.wrong) == (2, 2, ())
