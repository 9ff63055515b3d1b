"""What happens to a cell after an error that is not a result: it waits, is suspended, or ends.

A database that restarts, an evidence store that is full, or a host that is away does not end a
cell. A worker waits and tries again; a fault that waiting does not cure ends the cell, with its
reason. `diskbench run` does not wait, because a person sees the error at once: it suspends the cell
after any error, and `diskbench resume` continues it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from diskbench.errors import (
    ConnectionLost,
    DiskbenchError,
    EvidenceDamaged,
    HostUnavailable,
    KeyTaken,
    NewerFormat,
    StepsMissing,
    StoreUnavailable,
    Suspended,
)
from diskbench.model.outcome import Problem, problem_of
from diskbench.store.database_errors import (
    BROKEN_S,
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    is_broken,
)

if TYPE_CHECKING:
    from diskbench.engine.trial.stop import Stop

T = TypeVar("T")
FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0
HOST_AWAY_S = 1800.0
"""Seconds that a host may be away, beyond what each station waits by itself; our choice."""
_HOSTS = (ConnectionLost, HostUnavailable, EvidenceDamaged)


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
            if not _comes_back(error) and (not _is_host(error) or away >= HOST_AWAY_S):
                return otherwise(problem_of(error))
            self.note(trial_id, f"waits {wait:.0f} s: {_first_line(error)}")
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


def _comes_back(error: BaseException) -> bool:
    """Whether the error is a store that may become available later. Errors about the content of a
    store do not go away."""
    return isinstance(error, StoreUnavailable) and not isinstance(error, KeyTaken | NewerFormat)


def _is_host(error: BaseException) -> bool:
    """Whether a host may do later what it did not do now: answer, or send its files whole."""
    return isinstance(error, _HOSTS) and not isinstance(error, StepsMissing)


def _first_line(error: BaseException) -> str:
    text = error.message if isinstance(error, DiskbenchError) else str(error)
    return next(iter(text.splitlines()), type(error).__name__)
