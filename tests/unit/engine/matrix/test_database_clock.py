"""A worker's look at the database's clock."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.rigs.everywhere import replace_everywhere

from diskbench.engine.processes import DatabaseClock
from diskbench.store import clock
from diskbench.store.database import open_database

BEGAN = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture
def seen(tmp_path, monkeypatch):
    """The clock, and what the database will say is the time, and how far this machine's is off."""
    said = {"time": BEGAN, "skew": 0.0}
    replace_everywhere(monkeypatch, clock, "time_and_skew", lambda _: (said["time"], said["skew"]))
    database = open_database(f"sqlite:///{tmp_path}/a.db")
    yield DatabaseClock(database), said
    database.dispose()


def test_a_clock_that_jumps_forward_is_told_from_time_that_passes(seen):
    looks, said = seen
    assert looks.looked() == 0.0
    assert looks.looked() < 1.0
    said["time"] += timedelta(minutes=5)
    assert looks.looked() == pytest.approx(300, abs=60)
    said["time"] -= timedelta(minutes=5)
    assert looks.looked() < -200


@pytest.mark.parametrize("seconds", [61.0, -61.0, 86_400.0])
def test_a_worker_says_once_that_it_takes_nothing_over_and_once_that_it_does_again(
    seen, caplog, seconds
):
    looks, said = seen
    caplog.set_level("INFO", logger="diskbench")
    looks.looked()
    assert not looks.is_skewed
    said["skew"] = seconds
    for _ in range(3):
        looks.looked()
    assert looks.is_skewed
    assert [one for one in caplog.messages if "takes over no cells" in one] == caplog.messages
    assert len(caplog.messages) == 1
    said["skew"] = 59.0
    for _ in range(3):
        looks.looked()
    assert not looks.is_skewed
    assert caplog.messages[1:] == ["the clock agrees with the database's again"]


def test_an_age_counts_to_the_last_look(seen):
    looks, _ = seen
    since = clock.iso(BEGAN - timedelta(minutes=10))
    assert looks.age_s(since) == 0.0
    looks.looked()
    assert looks.age_s(since) == 600.0
    assert looks.age_s(None) == 0.0
