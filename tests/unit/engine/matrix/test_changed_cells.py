"""Which cells changed between two looks, whatever the looks missed."""

import pytest
import sqlalchemy as sa
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row

from diskbench.engine.matrix.campaign import changed_cells
from diskbench.store import schema
from diskbench.store.campaigns import save_campaign


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


def test_a_cell_is_told_when_it_begins_and_when_it_ends(look):
    assert look() == []
    assert look(queued=[1, 0]) == [(0, "queued"), (1, "queued")]
    assert look(measuring=[0], done=[1]) == [(0, "measuring"), (1, "done")]
    assert look() == []
    assert look(waiting=[0]) == [(0, "waiting")]


def test_a_cell_that_is_tried_again_is_told_again(look):
    look(failed=[2, 4])
    assert look(waiting=[2]) == [(2, "waiting")]
    assert look(failed=[2]) == [(2, "failed")]
