"""Repetition of unanswered calls to a cloud, for a limited time."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, TypeVar

import tenacity

from diskbench.errors import CloudSilent, Unanswered
from diskbench.providers.waits import nap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from diskbench.ports import RentWatch
    from diskbench.providers.patience import CloudTiming

T = TypeVar("T")


@contextlib.contextmanager
def while_looking() -> Iterator[None]:
    """Turn an unanswered call into an error of the user's environment, as long as nothing is
    rented."""
    try:
        yield
    except Unanswered as error:
        # Nothing was rented yet, so `diskbench resume` has nothing to continue.
        raise CloudSilent(error.message, advice=error.look_at or "try again") from error


def repeated(
    send: Callable[[], T],
    timing: CloudTiming,
    watch: RentWatch | None,
    again: Callable[[BaseException], bool] = lambda error: isinstance(error, Unanswered),
    until: float | None = None,
) -> T:
    """The answer of `send`; an unanswered or throttled call is repeated with backoff and jitter.

    A wait that the cloud requests (`Unanswered.retry_after_s`) is kept, and does not count towards
    `timing.retry_s`; it must end by `until` (Unix seconds), or without one by `timing.retry_s`.

    Raises the last error after `timing.retry_s`, an error that `again` does not cover at once,
    and Interrupted when `watch` is stopping.
    """
    requested_s = 0.0

    def is_over(state: tenacity.RetryCallState) -> bool:
        nonlocal requested_s
        wait_s, spent_s = _requested_wait_s(state), state.seconds_since_start or 0.0
        if not wait_s:
            return spent_s - requested_s >= timing.retry_s
        requested_s += wait_s
        if until is None:
            return spent_s + wait_s > timing.retry_s
        return time.time() + wait_s > until

    backoff = tenacity.wait_random_exponential(
        multiplier=timing.first_retry_s, max=timing.max_retry_s
    )
    return tenacity.Retrying(
        retry=tenacity.retry_if_exception(again),
        wait=lambda state: max(backoff(state), _requested_wait_s(state)),
        stop=is_over,
        sleep=lambda seconds: nap(seconds, timing, watch),
        reraise=True,
    )(send)


def _requested_wait_s(state: tenacity.RetryCallState) -> float:
    """The wait in seconds that the cloud's last answer requested; 0 without one."""
    error = state.outcome.exception() if state.outcome is not None else None
    return error.retry_after_s if isinstance(error, Unanswered) else 0.0
