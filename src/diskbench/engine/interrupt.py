"""One Ctrl-C ends a run well, the second leaves at once. SIGTERM is treated alike."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible(
    stop: threading.Event, on_first: Callable[[], None], left: Callable[[], str]
) -> Iterator[None]:
    """Set `stop` at the first SIGINT or SIGTERM; at the second print `left()` and exit 130.

    `on_first` tells the person that the stop is being obeyed. Main thread only.
    """

    def handle(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signal API
        if stop.is_set():
            sys.stderr.write(f"\nleft at once. {left()}\n")
            sys.stderr.flush()
            os._exit(130)
        stop.set()
        on_first()

    before = {s: signal.signal(s, handle) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
