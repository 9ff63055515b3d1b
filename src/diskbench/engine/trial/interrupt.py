"""The first Ctrl-C ends a run in an orderly way, the second leaves at once. SIGTERM is the same."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.errors import Interrupted, Suspended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from diskbench.engine.trial.stop import Stop


@dataclass(frozen=True)
class StopThenLeave:
    """For `on_signals`: asks all trials to stop at the first signal; at the second prints `left()`,
    suspends all trials and raises Suspended in the main thread.

    `on_first` says to the user that the run is being stopped.
    """

    stop: Stop
    on_first: Callable[[], None]
    left: Callable[[], str]

    def __call__(self) -> None:
        """Handle one signal."""
        if self.stop.all_asked:
            sys.stderr.write(f"\nleft at once. {self.left()}\n")
            sys.stderr.flush()
            self.stop.leave()
            raise Suspended(Interrupted("left at once"))
        self.stop.ask_all()
        self.on_first()


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
