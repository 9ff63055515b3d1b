"""Who asked which trial to stop: Ctrl-C means all of this process, `diskbench cancel` one, a limit
of a matrix one."""

import threading
from collections.abc import Iterable

from diskbench.errors import Interrupted
from diskbench.model.outcome import Problem, problem_of

BY_USER = problem_of(Interrupted("stopped by the user"))


class Stop:
    """One event a trial; any thread may set or wait for it."""

    def __init__(self, trial_ids: Iterable[str] = ()) -> None:
        self._events = {trial_id: threading.Event() for trial_id in trial_ids}
        self._all = threading.Event()
        self._reasons: dict[str, Problem] = {}
        self._lock = threading.Lock()

    @property
    def all_asked(self) -> bool:
        """Whether every trial was asked to stop."""
        return self._all.is_set()

    def ask_all(self) -> None:
        """Ask every trial to stop."""
        with self._lock:
            self._all.set()
            for event in self._events.values():
                event.set()

    def ask(self, trial_id: str, reason: Problem | None = None) -> None:
        """Ask one trial to stop; the others go on. `reason`: None where a person asked."""
        if reason is not None and not self.of(trial_id).is_set():
            self._reasons[trial_id] = reason
        self.of(trial_id).set()

    def reason(self, trial_id: str) -> Problem:
        """Why a trial was asked to stop."""
        return self._reasons.get(trial_id, BY_USER)

    def of(self, trial_id: str) -> threading.Event:
        """The event that is set when this trial should stop; a worker's trials come one by one."""
        with self._lock:
            if trial_id not in self._events:
                self._events[trial_id] = threading.Event()
                if self._all.is_set():
                    self._events[trial_id].set()
            return self._events[trial_id]

    def forget(self, trial_id: str) -> None:
        """The trial is over."""
        with self._lock:
            self._events.pop(trial_id, None)
            self._reasons.pop(trial_id, None)
