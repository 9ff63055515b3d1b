"""Requests to stop: one thread per process looks for all of its trials, at once where the database
sends notices (store/notices.py), else by polling."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from diskbench.errors import StoreUnavailable
from diskbench.store.wishes import asked_to_stop

if TYPE_CHECKING:
    from diskbench.engine.session import Session
    from diskbench.engine.trial.stop import Stop

LOOK_S = 1.0
"""Seconds between two polls; our choice."""
LISTENING_LOOK_S = 30.0
"""Seconds between two looks while notices are heard: no request should ever wait for them."""


def follow_wishes(session: Session, stop: Stop) -> None:
    """Ask `stop` to stop each trial that `diskbench cancel` names, until the session is closed."""
    wake = threading.Event()
    session.notices.wake(wake, "wish")
    session.keep_running(lambda over: _follow(session, stop, wake, over))


def _follow(session: Session, stop: Stop, wake: threading.Event, over: threading.Event) -> None:
    while True:
        wake.wait(LISTENING_LOOK_S if session.notices.listening else LOOK_S)
        wake.clear()
        if over.is_set():
            return
        try:
            trial_ids = asked_to_stop(session.database, session.executor_id)
        except StoreUnavailable:
            continue  # reported by whatever writes there; polled again when it is back
        for trial_id in trial_ids:
            stop.ask(trial_id)
