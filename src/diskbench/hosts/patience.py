"""Retry work on a host through any number of broken connections, until the user stops."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from diskbench.errors import ConnectionLost

T = TypeVar("T")

LONGEST_WAIT_S = 10.0
"""The longest pause between attempts to reach a host again; our choice."""
ATTEMPTS_AFTER_STOP = 5
"""Attempts to reach a host that does not answer once the user wants to stop; our choice."""
AFTER_STOP_WAIT_S = 1.0
"""The longest pause between these attempts: a connection that returns within seconds still delivers
the stop; our choice."""
_LOOK_S = 0.1


def undelivered(error: ConnectionLost) -> ConnectionLost:
    """The error of a connection that was given up before the stop reached the host."""
    return ConnectionLost(
        f"the host could not be asked to stop: {error.message}",
        advice="a running fio continues there; a fio that waits does not start",
    )


def patiently(
    work: Callable[[], T], should_stop: Callable[[], bool], on_note: Callable[[str], None]
) -> T:
    """The result of `work`, which is repeated after a pause and a note when the connection breaks.

    `work` must be idempotent. ConnectionLost is raised only once `should_stop` returns True. An
    error that `on_note` raises ends the waiting.
    """
    import tenacity  # at use: commands that only look at hosts do without it

    after_stop = 0

    def pause(seconds: float) -> None:
        begin, stopping = time.monotonic(), should_stop()
        while (gone := time.monotonic() - begin) < seconds:
            if should_stop() and (not stopping or gone > AFTER_STOP_WAIT_S):
                return  # at once after a new stop, so that it is sent to the host
            time.sleep(min(_LOOK_S, seconds - gone))

    def given_up(state: tenacity.RetryCallState) -> bool:  # noqa: ARG001 - tenacity's signature
        nonlocal after_stop
        after_stop += should_stop()
        return after_stop > ATTEMPTS_AFTER_STOP

    def note(state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if error is not None and state.next_action is not None:
            wait = state.next_action.sleep
            on_note(f"{getattr(error, 'message', error)}; trying again in {wait:.1f} s")

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(ConnectionLost),
        wait=tenacity.wait_random_exponential(multiplier=0.2, max=LONGEST_WAIT_S),
        stop=given_up,
        before_sleep=note,
        sleep=pause,
        reraise=True,
    )(work)
