"""What a test leaves in its process is named, and put back (tests/rigs/leftovers.py)."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time

import pytest
from tests.rigs.leftovers import State


def change_a_level_and_disable():
    logging.getLogger("diskbench").setLevel(1)
    logging.disable(logging.CRITICAL)


def be_elsewhere():
    os.environ["TZ"] = "Asia/Tokyo"
    time.tzset()


def start_in_a_directory_that_goes(place):
    gone = place / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()


CHANGES = {
    "one more variable": (
        lambda _: os.environ.update(DISKBENCH_NEW="1"),
        ["environment variable DISKBENCH_NEW"],
    ),
    "another value": (
        lambda _: os.environ.update(PATH="/nowhere"),
        ["environment variable PATH"],
    ),
    "one variable less": (lambda _: os.environ.pop("PATH"), ["environment variable PATH"]),
    "a directory": (os.chdir, ["working directory"]),
    "no directory": (start_in_a_directory_that_goes, ["working directory"]),
    "umask": (lambda _: os.umask(0o007), ["umask"]),
    "path": (lambda place: sys.path.insert(0, str(place)), ["sys.path"]),
    "zone": (lambda _: be_elsewhere(), ["environment variable TZ", "time zone"]),
    "ignored SIGTERM": (
        lambda _: signal.signal(signal.SIGTERM, signal.SIG_IGN),
        ["handlers of signals"],
    ),
    "a handler of logging": (
        lambda _: logging.getLogger().addHandler(logging.NullHandler()),
        ["levels or handlers of logging"],
    ),
    "levels": (lambda _: change_a_level_and_disable(), ["levels or handlers of logging"]),
}


@pytest.mark.parametrize(("change", "named"), CHANGES.values(), ids=CHANGES)
def test_what_is_left_is_named_and_put_back(change, named, tmp_path):
    before = State()
    change(tmp_path)
    assert before.left() == named
    assert before.left() == []


def test_a_thread_that_ends_is_waited_for_and_one_that_stays_is_named():
    before = State()
    leave = threading.Event()
    stays = threading.Thread(target=leave.wait, name="stays")
    ends = threading.Thread(target=time.sleep, args=(0.01,), name="ends")
    daemon = threading.Thread(target=leave.wait, daemon=True)
    for one in (stays, ends, daemon):
        one.start()
    assert "thread stays" in before.left(patience_s=0)
    ends.join()
    assert before.left(patience_s=0) == ["thread stays"]
    leave.set()
    assert before.left() == []
    daemon.join()
