"""What ends a trial before its time, or makes it wait: requests to stop, signals, and errors that
are no result.

Ctrl-C stops all trials of this process, the second one leaves at once; SIGTERM is the same.
`diskbench cancel` or a limit of a matrix stops one trial. A database that restarts, an evidence
store that is full, or a host that is away does not end a cell: a worker waits and tries again; a
fault that waiting does not cure ends the cell, with its reason. `diskbench run` does not wait,
because a person sees the error at once: it suspends the cell, and `diskbench resume` continues it.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TypeVar

from diskbench.errors import (
    ConnectionLost,
    EvidenceDamaged,
    HostUnavailable,
    Interrupted,
    KeyTaken,
    NewerFormat,
    StepsMissing,
    StoreUnavailable,
    Suspended,
)
from diskbench.model.outcome import Problem, problem_of
from diskbench.store.database_errors import BROKEN_S, FIRST_PAUSE_S, LONGEST_PAUSE_S, is_broken

BY_USER = problem_of(Interrupted("stopped by the user"))
T = TypeVar("T")
FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0
HOST_AWAY_S = 1800.0
"""Seconds that a host may be away, beyond what each station waits by itself; our choice."""
_HOSTS = (ConnectionLost, HostUnavailable, EvidenceDamaged)


class Wish(threading.Event):
    """An event that is set when its trial should stop. Once the process leaves, reading it raises
    Suspended, so that no station takes the end of its process for a stop; each station reads it
    about once a second."""

    def __init__(self, leaving: threading.Event) -> None:
        super().__init__()
        self._leaving = leaving

    def is_set(self) -> bool:
        """Whether the trial should stop. Raises Suspended when this process leaves."""
        if self._leaving.is_set():
            raise Suspended(Interrupted("its process ended before it did"))
        return super().is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the trial should stop. Raises Suspended when this process leaves."""
        super().wait(timeout)
        return self.is_set()


@dataclass
class Stop:
    """One event per trial, created at first use; any thread may set it or wait for it."""

    all_asked: bool = False
    """Whether every trial was asked to stop, also those that begin later."""
    _leaving: threading.Event = field(default_factory=threading.Event)
    _wishes: dict[str, Wish] = field(default_factory=dict)
    _reasons: dict[str, Problem] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def leaving(self) -> bool:
        """Whether this process leaves its trials as they are."""
        return self._leaving.is_set()

    def ask_all(self) -> None:
        """Ask every trial to stop."""
        # Without the lock: a signal handler calls this, and may have interrupted its holder. Set
        # first, so that a wish that is created meanwhile is set by its creator.
        self.all_asked = True
        for wish in list(self._wishes.values()):
            wish.set()

    def leave(self) -> None:
        """Suspend every trial of this process; fio continues on its hosts."""
        self._leaving.set()
        for wish in list(self._wishes.values()):  # without the lock, as in `ask_all`
            wish.set()  # wakes waiting threads, which then raise Suspended

    def pause(self, seconds: float) -> None:
        """Wait, whether or not a stop was asked. Raises Suspended when this process leaves."""
        if self._leaving.wait(seconds):
            raise Suspended(Interrupted("its process ended before it did"))

    def ask(self, trial_id: str, reason: Problem | None = None) -> None:
        """Ask one trial to stop; the others continue. `reason` is None where the user asked."""
        if reason is not None and not self.asked(trial_id):
            self._reasons[trial_id] = reason
        self.of(trial_id).set()

    def asked(self, trial_id: str) -> bool:
        """Whether a trial was asked to stop; False once this process leaves. Never raises."""
        return threading.Event.is_set(self.of(trial_id)) and not self.leaving

    def reason(self, trial_id: str) -> Problem:
        """Why a trial was asked to stop."""
        return self._reasons.get(trial_id, BY_USER)

    def of(self, trial_id: str) -> Wish:
        """The event that is set when this trial should stop, created at first use."""
        with self._lock:
            if trial_id not in self._wishes:
                self._wishes[trial_id] = Wish(self._leaving)
                if self.all_asked:
                    self._wishes[trial_id].set()
            return self._wishes[trial_id]

    def forget(self, trial_id: str) -> None:
        """Remove the event of a trial that has ended."""
        with self._lock:
            self._wishes.pop(trial_id, None)
            self._reasons.pop(trial_id, None)


def stop_then_leave(
    stop: Stop, on_first: Callable[[], None], left: Callable[[], str]
) -> Callable[[], None]:
    """For `on_signals`: asks all trials to stop at the first signal; at the second prints `left()`,
    suspends all trials and raises Suspended in the main thread.

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

    return handle


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


@dataclass(frozen=True)
class RetryPolicy:
    """Whether a process waits (`waits`): for a store until it is available, because what was
    measured must be kept; for a host until HOST_AWAY_S have passed or the trial is asked to stop.
    `note` gets the reason for each wait, and an empty text when the work continues. A process that
    does not wait suspends the trial, but goes through connections to the database that break for
    BROKEN_S: it has no other use for the time."""

    stop: Stop
    note: Callable[[str, str], None]
    waits: bool = True

    def through(self, trial_id: str, work: Callable[[], T], otherwise: Callable[[Problem], T]) -> T:
        """The result of `work`, retried while waiting can help; else that of `otherwise`. Raises
        Suspended where the process does not wait, or leaves."""
        wait, away, pause, broken = FIRST_WAIT_S, 0.0, 0.0, 0.0
        while True:
            try:
                result = work()
            except (Exception, Suspended) as raised:
                if self.stop.leaving:
                    raise
                error = raised.error if isinstance(raised, Suspended) else raised
                if not self.waits:
                    if not is_broken(error) or broken > BROKEN_S:
                        raise Suspended(error) from error
                    self.stop.pause(pause := min(max(2 * pause, FIRST_PAUSE_S), LONGEST_PAUSE_S))
                    broken += pause
                    continue
            else:
                if wait > FIRST_WAIT_S:
                    self.note(trial_id, "")
                return result
            # A store may become available later; what its content is does not go away.
            is_content = isinstance(error, KeyTaken | NewerFormat)
            comes_back = isinstance(error, StoreUnavailable) and not is_content
            if not comes_back and (not _is_host(error) or away >= HOST_AWAY_S):
                return otherwise(problem_of(error))
            first_line = next(iter(str(error).splitlines()), type(error).__name__)
            self.note(trial_id, f"waits {wait:.0f} s: {first_line}")
            stop = self.stop.of(trial_id)
            if stop.is_set():
                self.stop.pause(wait)  # only a store is waited for in spite of a stop
            else:
                stop.wait(wait)
            if _is_host(error):
                away += wait
                if stop.is_set():
                    return otherwise(problem_of(error))
            wait = min(2 * wait, LONGEST_WAIT_S)


def _is_host(error: BaseException) -> bool:
    """Whether a host may do later what it did not do now: answer, or send its files whole."""
    return isinstance(error, _HOSTS) and not isinstance(error, StepsMissing)
