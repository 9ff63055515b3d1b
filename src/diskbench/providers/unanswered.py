"""Repetition of unanswered calls to a cloud, for a limited time."""

from __future__ import annotations

import contextlib
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
) -> T:
    """The answer of `send`; an unanswered or throttled call is repeated with backoff and jitter.

    Raises the last error after `timing.retry_s`, an error that `again` does not cover at once,
    and Interrupted when `watch` is stopping.
    """
    return tenacity.Retrying(
        retry=tenacity.retry_if_exception(again),
        wait=tenacity.wait_random_exponential(
            multiplier=timing.first_retry_s, max=timing.max_retry_s
        ),
        stop=tenacity.stop_after_delay(timing.retry_s),
        sleep=lambda seconds: nap(seconds, timing, watch),
        reraise=True,
    )(send)
