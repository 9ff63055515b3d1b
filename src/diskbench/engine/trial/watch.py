"""What is seen of a trial while it runs: its progress, for the terminal and in rows for other
processes; its timings; stages that take long; a machine that does not answer; a step that broke."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import sqlalchemy as sa

from diskbench.errors import DiskbenchError, FioFailed, MeasurementFailed, RentalFailed
from diskbench.fio.recorded import END, last_words, was_shutting_down
from diskbench.hosts.unit import Unit, UnitExit
from diskbench.model.result import StepResult, Tick
from diskbench.model.spec import Plan, Step
from diskbench.ports import Renter
from diskbench.store.rows import save_progress

PROGRESS_EVERY_S = 1.0
"""Least seconds between two writes of a step's progress."""


class Watcher(Protocol):
    """Receives progress from the threads of the trials; its methods must not block."""

    def measuring(self, plan: Plan) -> None:
        """The machine of a trial is there, and its plan is final: it is about to be measured."""

    def step_started(self, trial_id: str, run_index: int, step: Step) -> None:
        """A step is about to run."""

    def tick(self, trial_id: str, tick: Tick) -> None:
        """One second of the running step."""

    def step_finished(self, trial_id: str, result: StepResult) -> None:
        """A step is done and its rows are stored."""

    def note(self, trial_id: str, text: str) -> None:
        """A message for the user: a broken connection, a stop that takes effect."""


class Silent:
    """A watcher that passes on notes and shows nothing."""

    def __init__(self, note: Callable[[str, str], None]) -> None:
        self._note = note

    def measuring(self, plan: Plan) -> None:
        """See Watcher."""

    def step_started(self, trial_id: str, run_index: int, step: Step) -> None:
        """See Watcher."""

    def tick(self, trial_id: str, tick: Tick) -> None:
        """See Watcher."""

    def step_finished(self, trial_id: str, result: StepResult) -> None:
        """See Watcher."""

    def note(self, trial_id: str, text: str) -> None:
        """Pass on."""
        self._note(trial_id, text)


@dataclass
class StepProgress:
    """How far a step is: for the `watcher`, and at most once a second in the row of its run."""

    watcher: Watcher
    database: sa.Engine
    trial_id: str
    run_id: str
    step: Step
    _written_s: float = -math.inf

    def note(self, tick: Tick | None) -> None:
        """Pass on a second of the step (None: it is about to start), and write it. Raises
        StoreUnavailable."""
        if tick is not None:
            self.watcher.tick(self.trial_id, tick)
            if time.monotonic() - self._written_s < PROGRESS_EVERY_S:
                return
        self._written_s = time.monotonic()
        save_progress(
            self.database,
            self.run_id,
            step_index=self.step.index,
            step=self.step.name,
            round=self.step.round,
            tick=tick.model_dump(mode="json") if tick else None,
        )


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


TOLD_AFTER_S = 3.0
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


@dataclass
class Stages:
    """Gives one note for each stage of a step that takes long."""

    note: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _name: str = ""
    _since: float = 0.0
    """When the stage `_name` was first reported."""

    def at(self, name: str) -> None:
        """Record that the host reported to be in the stage `name`."""
        now = self.clock()
        if name != self._name:
            self._name, self._since = name, now
        elif name in _WORDS and now - self._since >= TOLD_AFTER_S:
            self.note(_WORDS[name])
            self._since = float("inf")


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
        hung = "it did not end when it was killed: it waits for its disk in the kernel"
        raise FioFailed(
            f"fio hung in step {unit.name}: "
            + (hung if end.limit == "kill" else f"it was still running after {limit:.0f} s")
            + last_words(files),
            advice="its files are in the evidence; look at the disk (dmesg), or try a newer fio",
        )
