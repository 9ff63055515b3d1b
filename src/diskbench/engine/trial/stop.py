"""Who asked which trial to stop: Ctrl-C means all of this process, `diskbench cancel` one, a limit
of a matrix one; and whether this process leaves its trials as they are."""

import threading
from collections.abc import Iterable

from diskbench.errors import Interrupted, Suspended
from diskbench.model.outcome import Problem, problem_of

BY_USER = problem_of(Interrupted("stopped by the user"))


class Wish(threading.Event):
    """Set when its trial should stop. Once the process leaves, whoever asks is suspended instead:
    no station takes the end of its process for a stop, and each comes here about once a second."""

    def __init__(self, leaving: threading.Event) -> None:
        super().__init__()
        self._leaving = leaving

    def is_set(self) -> bool:
        """Whether the trial should stop. Raises Suspended when this process leaves."""
        if self._leaving.is_set():
            raise Suspended(Interrupted("its process left it as it is"))
        return super().is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the trial should stop. Raises Suspended when this process leaves."""
        super().wait(timeout)
        return self.is_set()


class Stop:
    """One wish a trial; any thread may set or wait for it."""

    def __init__(self, trial_ids: Iterable[str] = ()) -> None:
        self._leaving = threading.Event()
        self._wishes = {trial_id: Wish(self._leaving) for trial_id in trial_ids}
        self._all = threading.Event()
        self._reasons: dict[str, Problem] = {}
        self._lock = threading.Lock()

    @property
    def all_asked(self) -> bool:
        """Whether every trial was asked to stop."""
        return self._all.is_set()

    @property
    def leaving(self) -> bool:
        """Whether this process leaves its trials as they are."""
        return self._leaving.is_set()

    def ask_all(self) -> None:
        """Ask every trial to stop."""
        with self._lock:
            self._all.set()
            for wish in self._wishes.values():
                wish.set()

    def leave(self) -> None:
        """Suspend every trial of this process; fio goes on where it runs."""
        self._leaving.set()
        # Without the lock: a signal handler calls this, and may have interrupted its holder.
        for wish in list(self._wishes.values()):
            wish.set()  # wakes whoever waits; none is taken for a stop any more

    def pause(self, seconds: float) -> None:
        """Wait, whether or not a stop was asked. Raises Suspended when this process leaves."""
        if self._leaving.wait(seconds):
            raise Suspended(Interrupted("its process left it as it is"))

    def ask(self, trial_id: str, reason: Problem | None = None) -> None:
        """Ask one trial to stop; the others go on. `reason`: None where a person asked."""
        if reason is not None and not self.asked(trial_id):
            self._reasons[trial_id] = reason
        self.of(trial_id).set()

    def asked(self, trial_id: str) -> bool:
        """Whether a trial was asked to stop; also of a process that leaves."""
        return threading.Event.is_set(self.of(trial_id)) and not self.leaving

    def reason(self, trial_id: str) -> Problem:
        """Why a trial was asked to stop."""
        return self._reasons.get(trial_id, BY_USER)

    def of(self, trial_id: str) -> Wish:
        """The wish that is set when this trial should stop; a worker's trials come one by one."""
        with self._lock:
            if trial_id not in self._wishes:
                self._wishes[trial_id] = Wish(self._leaving)
                if self._all.is_set():
                    self._wishes[trial_id].set()
            return self._wishes[trial_id]

    def forget(self, trial_id: str) -> None:
        """The trial is over."""
        with self._lock:
            self._wishes.pop(trial_id, None)
            self._reasons.pop(trial_id, None)
