"""One Ctrl-C ends a run well, the second leaves at once. SIGTERM is treated alike."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from diskbench.engine.stop import Stop


@contextmanager
def interruptible(
    stop: Stop, on_first: Callable[[], None], left: Callable[[], str]
) -> Iterator[None]:
    """Ask all to stop at the first SIGINT or SIGTERM; at the second print `left()` and exit 130.

    `on_first` tells the person that the stop is being obeyed. Main thread only.
    """

    def handle(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signal API
        if stop.all_asked:
            sys.stderr.write(f"\nleft at once. {left()}\n")
            sys.stderr.flush()
            os._exit(130)
        stop.ask_all()
        on_first()

    before = {s: signal.signal(s, handle) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
