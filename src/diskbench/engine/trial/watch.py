"""Who watches a running trial: the terminal, and other processes by its progress row."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from diskbench.store.claims import save_progress

if TYPE_CHECKING:
    from collections.abc import Callable

    import sqlalchemy as sa

    from diskbench.model.result import StepResult, Tick
    from diskbench.model.spec import Plan, Step

PROGRESS_EVERY_S = 1.0
"""Least seconds between two writes of a progress row, which limits SQLite's syncs."""


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
class StepProgress:
    """How far a step is: for the `watcher`, and in the row of its run."""

    watcher: Watcher
    database: sa.Engine
    trial_id: str
    run_id: str
    step: Step
    _written: float = -math.inf

    def note(self, tick: Tick | None) -> None:
        """Pass on a second of the step (None: it is about to start), and write the row, unless the
        last write is less than a second old."""
        if tick is not None:
            self.watcher.tick(self.trial_id, tick)
        if time.monotonic() - self._written < PROGRESS_EVERY_S:
            return
        self._written = time.monotonic()
        save_progress(
            self.database,
            self.run_id,
            step_index=self.step.index,
            step=self.step.name,
            round=self.step.round,
            tick=tick.model_dump(mode="json") if tick else None,
        )
