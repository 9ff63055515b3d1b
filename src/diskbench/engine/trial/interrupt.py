"""The first Ctrl-C ends a run in an orderly way, the second leaves at once. SIGTERM is the same."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from diskbench.engine.trial.stop import Stop
from diskbench.errors import Interrupted, Suspended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType


@contextmanager
def interruptible(
    stop: Stop, on_first: Callable[[], None], left: Callable[[], str]
) -> Iterator[None]:
    """Ask all to stop at the first SIGINT or SIGTERM; at the second print `left()`, suspend all
    trials and raise Suspended in the main thread.

    `on_first` says to the user that the run is being stopped.
    """

    def handle() -> None:
        if stop.all_asked:
            sys.stderr.write(f"\nleft at once. {left()}\n")
            sys.stderr.flush()
            stop.leave()
            raise Suspended(Interrupted("left at once"))
        stop.ask_all()
        on_first()

    with on_signals(handle):
        yield


@contextmanager
def on_signals(handle: Callable[[], None]) -> Iterator[None]:
    """Call `handle` in the main thread at SIGINT and SIGTERM inside the block. Does nothing in
    other threads, because Python lets only the main thread set handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def received(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signal API
        handle()

    before = {s: signal.signal(s, received) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
