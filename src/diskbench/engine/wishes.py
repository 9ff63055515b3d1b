"""Polling for requests to stop: one thread per process polls for all of its trials."""

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


def follow_wishes(session: Session, stop: Stop) -> None:
    """Ask `stop` to stop each trial that `diskbench cancel` names, until the session is closed."""
    session.keep_running(lambda over: _follow(session, stop, over))


def _follow(session: Session, stop: Stop, over: threading.Event) -> None:
    while not over.wait(LOOK_S):
        try:
            trial_ids = asked_to_stop(session.database, session.executor_id)
        except StoreUnavailable:
            continue  # reported by whatever writes there; polled again when it is back
        for trial_id in trial_ids:
            stop.ask(trial_id)
