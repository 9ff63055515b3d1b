"""What is seen of a trial while it runs: its progress, for the terminal and in rows for other
processes; its timings; stages that take long; a machine that does not answer; a step that broke."""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import sqlalchemy as sa

from diskbench.errors import DiskbenchError, FioFailed, MeasurementFailed, RentalFailed
from diskbench.fio.recorded import END, last_words, was_shutting_down
from diskbench.hosts.unit import Unit, UnitExit
from diskbench.model.result import Tick
from diskbench.model.spec import Plan, Step
from diskbench.ports import Renter, Watcher
from diskbench.store.rows import save_progress

PROGRESS_EVERY_S = 1.0
"""Least seconds between two writes of a step's progress."""


def step_progress(
    watcher: Watcher, database: sa.Engine, trial_id: str, run_id: str, step: Step
) -> Callable[[Tick | None], None]:
    """A function that passes on a second of the step (None: it is about to start) to the `watcher`,
    and writes it, at most once a second, in the row of its run. It raises StoreUnavailable."""
    written_s = -math.inf

    def note(tick: Tick | None) -> None:
        nonlocal written_s
        if tick is not None:
            watcher.tick(trial_id, tick)
            if time.monotonic() - written_s < PROGRESS_EVERY_S:
                return
        written_s = time.monotonic()
        document = tick.model_dump(mode="json") if tick else None
        index, name = step.index, step.name
        save_progress(
            database, run_id, step_index=index, step=name, round=step.round, tick=document
        )

    return note


@dataclass
class Timing:
    """Sums of wall seconds by name, in the order of first use; any thread may add.

    Time without a trial id is shared by all trials of the process.
    """

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _seconds: dict[str | None, dict[str, float]] = field(default_factory=dict)

    @contextmanager
    def span(self, name: str, trial_id: str | None = None) -> Iterator[None]:
        """Add the time spent inside to `name`; spans of several threads add up."""
        self.add(name, 0.0, trial_id)  # so that nested spans are listed after it
        start = time.monotonic()
        try:
            yield
        finally:
            self.add(name, time.monotonic() - start, trial_id)

    def add(self, name: str, seconds: float, trial_id: str | None = None) -> None:
        """Add `seconds` to `name`."""
        with self._lock:
            sums = self._seconds.setdefault(trial_id, {})
            sums[name] = sums.get(name, 0.0) + seconds

    def seconds(self) -> dict[str, float]:
        """The sums so far, over all trials and shared time, in seconds."""
        with self._lock:
            totals: dict[str, float] = {}
            for sums in self._seconds.values():
                for name, seconds in sums.items():
                    totals[name] = totals.get(name, 0.0) + seconds
            return totals

    def of(self, trial_id: str) -> dict[str, float]:
        """The sums so far of one trial without shared time, in seconds."""
        with self._lock:
            return dict(self._seconds.get(trial_id, {}))


NOTED_AFTER_S = 3.0
"""Seconds after which a stage gets a note; our choice."""
_WORDS = {
    "start": "the step is being started on the host",
    "check": "the host checks the disk again",
    "sync": "the host writes out older data (sync); fio starts after that",
    "cache-drop": "the host drops its page cache; fio starts after that",
    "canary": "the canary runs: a short checksum, and fio without a disk",
    "end": "the host ends the step",
}
"""By the stage names in hosts/agent.py; other stages get no note."""


def note_of_long_stages(note: Callable[[str], None]) -> Callable[[str], None]:
    """A function for each stage that the host reports; gives one note for each that takes long."""
    current, since = "", 0.0

    def at(name: str) -> None:
        nonlocal current, since
        now = time.monotonic()
        if name != current:
            current, since = name, now
        elif name in _WORDS and now - since >= NOTED_AFTER_S:
            note(_WORDS[name])
            since = float("inf")

    return at


@dataclass
class HostLost:
    """Called after every failed attempt to reach a machine; asks its provider each time.

    A machine that was not rented is never known to be gone.
    """

    plan: Plan
    renter: Renter | None
    note: Callable[[str], None]
    reason: str | None = None
    """Why the machine is gone for good, once its provider said so."""

    def noted(self, text: str) -> None:
        """Pass on the error `text`, and ask the provider whether the machine is gone."""
        self.note(text)
        if self.renter is None or self.plan.rental is None or self.reason:
            return
        try:
            self.reason = self.renter.gone(self.plan.lease_id, self.plan.rental.scope)
        except DiskbenchError as error:
            self.note(f"its provider does not say whether it is still there: {error.message}")

    def noted_or_raise(self, text: str) -> None:
        """As `noted`; raises RentalFailed once the machine is known to be gone."""
        self.noted(text)
        self.raise_if_final()

    def raise_if_final(self) -> None:
        """Raise RentalFailed with the provider's reason when the machine is gone."""
        if self.reason is not None:
            raise RentalFailed(
                f"the machine is gone: {self.reason}",
                advice="finished steps are kept; start the run again",
            )


def raise_if_broken(end: UnitExit, unit: Unit, where: str, files: Mapping[str, bytes]) -> None:
    """Raise MeasurementFailed where a signal that diskbench did not send ended the step, FioFailed
    where fio hung. Both contain fio's last lines of output, from the step's `files`."""
    if end.signal is not None:
        known = {each.value: f" ({each.name})" for each in signal.Signals}
        machine = "the machine was not restarted"
        if end.rebooted:
            machine = "its boot id changed: the machine was restarted"
        elif was_shutting_down(files.get(END, b"")):
            machine = "the machine was shutting down"
        raise MeasurementFailed(
            f"step {unit.name} was ended by signal {end.signal}{known.get(end.signal, '')} on "
            f"{where}, which diskbench did not send; {machine}{last_words(files)}",
            advice="finished steps are kept; look at the machine's log (journalctl, dmesg), then "
            "run again",
        )
    if end.limit is not None:
        limit = unit.fio_limit_s or 0.0
        hung = "it waits for its disk in the kernel and could not be killed"
        raise FioFailed(
            f"fio hung in step {unit.name}: "
            + (hung if end.limit == "kill" else f"it was still running after {limit:.0f} s")
            + last_words(files),
            advice="its files are in the evidence; look at the disk (dmesg), or try a newer fio",
        )
