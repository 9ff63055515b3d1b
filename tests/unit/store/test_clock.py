from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row

from diskbench.store.campaigns import save_campaign
from diskbench.store.clock import iso, now, present
from diskbench.store.database import _beyond, database_time, skew_s, skew_text
from diskbench.store.matrix_lock import locked

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def test_the_databases_present_is_text_as_rows_hold_it(any_database):
    with any_database.begin() as connection:
        text = connection.execute(sa.select(present())).scalar_one()
    assert len(text) == len(now())
    assert iso(datetime.fromisoformat(text)) == text
    assert abs(database_time(any_database) - datetime.now(UTC)) < timedelta(seconds=60)
    assert abs(skew_s(any_database)) < 60


@pytest.mark.parametrize(
    ("after_s", "ahead_s"), [(0, 0.0), (1, 0.0), (2, 0.0), (-300, 300.0), (302, -300.0)]
)
def test_a_clock_is_off_by_what_no_delay_explains(after_s, ahead_s):
    before, after, theirs = (NOON + timedelta(seconds=each) for each in (0, 2, after_s))
    assert _beyond(theirs, before, after) == ahead_s


def test_the_line_says_how_far_in_which_direction_and_what_to_do():
    assert skew_text(300.4) == (
        "this machine's clock is 300 s ahead of the database's; set it: timedatectl set-ntp true"
    )
    assert "3,600 s behind the database's" in skew_text(-3600)


def test_a_locked_matrix_has_the_time_at_which_its_cells_were_read(any_database):
    save_campaign(any_database, campaign_row(), [cell_row(0)])
    before = database_time(any_database)
    with locked(any_database, CAMPAIGN) as held:
        assert before <= held.now <= database_time(any_database)
        assert not held.is_over
        held.set_cell(0, state="done")
        assert held.is_over
