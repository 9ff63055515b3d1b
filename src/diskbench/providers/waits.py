"""Waiting for a cloud: timeouts, polling until a deadline or a stop, and the repetition of calls
that were not answered."""

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Self, TypeVar

import tenacity

from diskbench.errors import CloudSilent, Interrupted, RentalFailed, Unanswered
from diskbench.ports import RentWatch

T = TypeVar("T")


CONNECT_S = 10
"""Seconds that a cloud may take to accept a connection."""
ANSWER_S = 60
"""Seconds that it may take to answer a call, which then counts as lost and is repeated."""
_OF_A_START = ("instance_s", "checks_s", "ssh_s", "ready_s")
"""Times of a machine's start, of CloudTiming and of single clouds."""


@dataclass(frozen=True)
class CloudTiming:
    """Seconds: the polling intervals, and the time after which each step counts as stuck; times of
    a single cloud are in that cloud's own class.

    `retry_s` is how long throttled or unanswered calls are repeated, and `look_s` the same while
    nothing is rented yet; `first_retry_s` is the first wait between two attempts, doubled each
    time up to `max_retry_s`, with jitter.
    """

    first_poll_s: float = 1.0
    max_poll_s: float = 5.0
    appear_s: float = 120.0
    ssh_s: float = 600.0
    metal_s: float = 2400.0
    """Each step of the start of bare metal, whose firmware checks all hardware first: up to 20
    minutes after it is running (Amazon EC2 User Guide, "Bare metal instances", 2026), twice that
    here; canonical/pycloudlib pull request 192 (2022-05-03) waits as long."""
    ready_s: float = 900.0
    delete_s: float = 900.0
    retry_s: float = 180.0
    look_s: float = 15.0
    first_retry_s: float = 0.5
    max_retry_s: float = 20.0
    nap_s: float = 0.5
    """The longest sleep without checking for a stop."""

    def for_bare_metal(self) -> Self:
        """The timeouts for a machine without a hypervisor."""
        longer = (name for name in _OF_A_START if hasattr(self, name))
        return replace(self, **{name: max(getattr(self, name), self.metal_s) for name in longer})

    def for_reading(self) -> Self:
        """The timeouts of read-only commands: a person waits for the answer."""
        return replace(self, retry_s=self.look_s)


@dataclass(frozen=True)
class Still:
    """Not done yet, with the present state."""

    state: str


def nap(seconds: float, timing: CloudTiming, watch: RentWatch | None) -> None:
    """Sleep in slices; raises Interrupted as soon as `watch` is stopping."""
    end = time.monotonic() + seconds
    while True:
        if watch is not None and watch.stopping():
            raise Interrupted("stopped while waiting for the cloud")
        left_s = end - time.monotonic()
        if left_s <= 0:
            return
        time.sleep(min(left_s, timing.nap_s))


def until(
    ask: Callable[[], T | Still],
    what: str,
    limit_s: float,
    timing: CloudTiming,
    watch: RentWatch | None = None,
    *,
    advice: str = "try again, or another --zone or --instance-type",
) -> T:
    """The final answer of `ask`; it is called again while it answers Still. Raises RentalFailed
    naming `what` and its last state after `limit_s`, with `advice`, Interrupted when `watch` is
    stopping, and whatever `ask` raises."""
    noted: list[str] = []

    def poll() -> T | Still:
        nap(0, timing, watch)
        answer = ask()
        if isinstance(answer, Still) and noted[-1:] != [answer.state]:
            noted.append(answer.state)
            if watch is not None:
                watch.note(f"{what}: {answer.state}")
        return answer

    def too_late(_: tenacity.RetryCallState) -> T:
        raise RentalFailed(f"{what} took longer than {limit_s:g} s: {noted[-1]}", advice=advice)

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda answer: isinstance(answer, Still)),
        wait=tenacity.wait_exponential(
            multiplier=timing.first_poll_s, exp_base=1.5, max=timing.max_poll_s
        ),
        stop=tenacity.stop_after_delay(limit_s),
        sleep=lambda seconds: nap(seconds, timing, watch),
        retry_error_callback=too_late,
    )
    with watch.span(_kind(what)) if watch is not None else nullcontext():
        answer = retrying(poll)
    assert not isinstance(answer, Still)
    return answer


def _kind(what: str) -> str:
    """The kind of wait without the resource's name: `status checks of i-0abc` gives `status
    checks`."""
    return re.sub(r"( of| to)? \S*\d\S*.*$", "", what)


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
    """The answer of `send`; an unanswered or throttled call is repeated with backoff and jitter. A
    wait that the cloud requests (`Unanswered.retry_after_s`) is kept, and does not count towards
    `timing.retry_s`; it must end by `until` (Unix seconds), or without one by `timing.retry_s`.

    Raises the last error after `timing.retry_s`, an error that `again` does not cover at once,
    and Interrupted when `watch` is stopping."""
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
