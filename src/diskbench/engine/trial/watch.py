"""Who watches a running trial: the terminal, and other processes by its progress row."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from diskbench.store.claims import progress_row, save_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import sqlalchemy as sa

    from diskbench.model.result import StepResult, Tick
    from diskbench.model.spec import Plan, Step

PROGRESS_EVERY_S = 1.0
"""Least seconds between two writes of progress rows, which limits SQLite's syncs."""


class Watcher(Protocol):
    """Receives progress from the threads of the trials; its methods must not block."""

    def measuring(self, plan: Plan) -> None:
        """The machine of a trial is there, and its plan is final: it is about to be measured."""
        ...

    def step_started(self, trial_id: str, run_index: int, step: Step) -> None:
        """A step is about to run."""
        ...

    def tick(self, trial_id: str, tick: Tick) -> None:
        """One second of the running step."""
        ...

    def step_finished(self, trial_id: str, result: StepResult) -> None:
        """A step is done and its rows are stored."""
        ...

    def note(self, trial_id: str, text: str) -> None:
        """A message for the user: a broken connection, a stop that takes effect."""
        ...


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
class ProgressRows:
    """How far the running steps of this process are, for the rows of their runs: those of all hosts
    are one write, at most once a second."""

    database: sa.Engine
    _unwritten: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _written_s: float = -math.inf
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, run_id: str, row: Mapping[str, Any], *, is_urgent: bool = False) -> None:
        """Keep a row, and write all rows that are kept, unless the last write is less than a second
        old; an urgent row is written in any case. Raises StoreUnavailable."""
        with self._lock:
            self._unwritten[run_id] = row
            if not is_urgent and time.monotonic() - self._written_s < PROGRESS_EVERY_S:
                return
            self._written_s = time.monotonic()
            rows, self._unwritten = self._unwritten, {}
            save_progress(self.database, *rows.values())

    def end(self, run_id: str) -> None:
        """Write nothing more of the run's step: when this returns, its row may be deleted."""
        with self._lock:
            self._unwritten.pop(run_id, None)


@dataclass(frozen=True)
class StepProgress:
    """How far a step is: for the `watcher`, and in the row of its run."""

    watcher: Watcher
    rows: ProgressRows
    trial_id: str
    run_id: str
    step: Step

    def note(self, tick: Tick | None) -> None:
        """Pass on a second of the step (None: it is about to start), and keep it for the row."""
        if tick is not None:
            self.watcher.tick(self.trial_id, tick)
        row = progress_row(
            self.run_id,
            step_index=self.step.index,
            step=self.step.name,
            round=self.step.round,
            tick=tick.model_dump(mode="json") if tick else None,
        )
        self.rows.note(self.run_id, row, is_urgent=tick is None)
