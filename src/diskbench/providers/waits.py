"""Waiting for a cloud: poll, note changes, stop at a deadline or on request."""

from __future__ import annotations

import re
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from diskbench.errors import Interrupted, RentalFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.ports import RentWatch

T = TypeVar("T")


class Patience(Protocol):
    """Seconds: the first wait between two polls, the longest wait, and the longest sleep without
    checking for a stop."""

    @property
    def first_poll_s(self) -> float: ...
    @property
    def max_poll_s(self) -> float: ...
    @property
    def nap_s(self) -> float: ...


@dataclass(frozen=True)
class Still:
    """Not done yet, with the present state."""

    state: str


def nap(seconds: float, timing: Patience, watch: RentWatch | None) -> None:
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
    timing: Patience,
    watch: RentWatch | None = None,
) -> T:
    """The final answer of `ask`; it is called again while it answers Still.

    Raises RentalFailed naming `what` and its last state after `limit_s`, Interrupted when `watch`
    is stopping, and whatever `ask` raises.
    """
    import tenacity  # at use: commands that only look at hosts do without it

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
        raise RentalFailed(
            f"{what} took longer than {limit_s:g} s: {noted[-1]}",
            advice="try again, or another --zone or --instance-type",
        )

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
