"""Requests to stop trials: Ctrl-C stops all trials of this process, `diskbench cancel` or a limit
of a matrix stops one; and whether this process leaves its trials for another process."""

import threading
from dataclasses import dataclass, field

from diskbench.errors import Interrupted, Suspended
from diskbench.model.outcome import Problem, problem_of

BY_USER = problem_of(Interrupted("stopped by the user"))


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
