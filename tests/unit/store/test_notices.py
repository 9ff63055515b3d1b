"""Notices between the processes of one PostgreSQL."""

import threading
import time

import pytest
import sqlalchemy as sa
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row

from diskbench.store import notices
from diskbench.store.campaigns import request_cancel, request_end, save_campaign
from diskbench.store.claims import remove_executor
from diskbench.store.database import open_database
from diskbench.store.notices import Notices, announce_now

WAIT_S = 240.0


def until(what):
    deadline = time.monotonic() + WAIT_S
    while not what():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


@pytest.fixture
def heard(any_database, monkeypatch):
    """What this process hears, its two events, both clear after it began to listen."""
    monkeypatch.setattr(notices, "AGAIN_S", 0.05)
    heard, over = Notices(), threading.Event()
    events = {"cells": threading.Event(), "wish": threading.Event()}
    for notice, event in events.items():
        heard.wake(event, notice)
    thread = threading.Thread(target=heard.follow, args=(any_database, over))
    thread.start()
    if any_database.dialect.name == "postgresql":
        until(lambda: heard.listening and all(event.is_set() for event in events.values()))
    for event in events.values():
        event.clear()
    yield any_database, heard, events
    over.set()
    thread.join(WAIT_S)
    assert not heard.listening


SENT = {
    "a matrix begins": ("cells", lambda db: save_campaign(db, campaign_row(), [cell_row(0)])),
    "a process leaves": ("cells", lambda db: remove_executor(db, "somebody")),
    "a cell is to stop": ("wish", lambda db: request_cancel(db, "01jy0000000000000000000001")),
    "a matrix is to stop": ("wish", lambda db: request_end(db, CAMPAIGN)),
    "its waiting cells, too": ("cells", lambda db: request_end(db, CAMPAIGN)),
    "a place is free": ("cells", lambda db: announce_now(db, "cells")),
}


@pytest.mark.parametrize("what", list(SENT))
def test_what_other_processes_wait_for_is_announced(heard, what):
    database, listener, events = heard
    notice, send = SENT[what]
    send(database)
    if database.dialect.name == "postgresql":
        assert events[notice].wait(WAIT_S)
    else:
        assert not listener.listening


def test_what_is_rolled_back_is_not_announced(heard):
    database, _, events = heard
    with database.begin() as connection:
        notices.announce(connection, "wish")
        connection.rollback()
    announce_now(database, "cells")  # what was sent before it would have come before it
    if database.dialect.name == "postgresql":
        assert events["cells"].wait(WAIT_S)
    assert not events["wish"].is_set()


def test_a_lost_connection_is_seen_and_made_again_and_everybody_looks(heard):
    database, listener, events = heard
    if database.dialect.name != "postgresql":
        assert not listener.listening
        return
    for _ in range(2):
        other = sa.text(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND query LIKE 'LISTEN%'"
        )
        with database.connect() as connection:
            assert connection.execute(other).scalars().all() == [True]
        assert events["cells"].wait(WAIT_S)
        assert events["wish"].wait(WAIT_S)
        until(lambda: listener.listening)
        for event in events.values():
            event.clear()
        announce_now(database, "cells")
        assert events["cells"].wait(WAIT_S)
        events["cells"].clear()


def test_a_server_that_is_away_ends_the_listening_and_not_the_thread(any_database_url):
    away = open_database(any_database_url)
    away.dispose()
    unreachable = sa.create_engine(
        "postgresql+psycopg://nobody@127.0.0.1:1/none", connect_args={"connect_timeout": 1}
    )
    heard, over = Notices(), threading.Event()
    thread = threading.Thread(target=heard.follow, args=(unreachable, over))
    thread.start()
    assert not heard.listening
    over.set()
    thread.join(WAIT_S)
    assert not thread.is_alive()
