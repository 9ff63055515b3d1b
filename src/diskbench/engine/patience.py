"""Waiting for a host that went away: any number of broken connections, until the user stops."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from diskbench.errors import ConnectionLost

T = TypeVar("T")

LONGEST_WAIT_S = 10.0
"""The longest pause between attempts to come back to a host; our choice."""
ATTEMPTS_AFTER_STOP = 5
"""Attempts to reach a host that does not answer once the user wants to stop; our choice."""


def patiently(work: Callable[[], T], stop: threading.Event, on_note: Callable[[str], None]) -> T:
    """What `work` returns; done again, after a pause and a note, when the connection breaks.

    `work` must be idempotent. ConnectionLost comes out only after `stop` is set.
    """
    import tenacity

    after_stop = 0

    def pause(seconds: float) -> None:
        stop.wait(seconds)

    def given_up(state: tenacity.RetryCallState) -> bool:  # noqa: ARG001 - tenacity's signature
        nonlocal after_stop
        after_stop += stop.is_set()
        return after_stop > ATTEMPTS_AFTER_STOP

    def note(state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if error is not None and state.next_action is not None:
            on_note(f"{error}; trying again in {state.next_action.sleep:.1f} s")

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(ConnectionLost),
        wait=tenacity.wait_random_exponential(multiplier=0.2, max=LONGEST_WAIT_S),
        stop=given_up,
        before_sleep=note,
        sleep=pause,
        reraise=True,
    )(work)
