"""Watchers of a running trial: the terminal, and the progress row that other processes read."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from diskbench.store.claims import save_progress
from diskbench.store.rows import load_plan

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


class RowWatcher:
    """Passes everything on, and writes each trial's last progress to its row."""

    def __init__(self, database: sa.Engine, inner: Watcher) -> None:
        self._database, self._inner = database, inner
        self._run_ids: dict[str, tuple[str, ...]] = {}
        self._current: dict[str, tuple[str, Step]] = {}
        self._written: dict[str, float] = {}

    def measuring(self, plan: Plan) -> None:
        """Pass on."""
        self._run_ids[plan.trial_id] = plan.run_ids
        self._inner.measuring(plan)

    def step_started(self, trial_id: str, run_index: int, step: Step) -> None:
        """Pass on, and write the step's row at once."""
        self._current[trial_id] = (self._runs(trial_id)[run_index], step)
        self._write(trial_id, None)
        self._inner.step_started(trial_id, run_index, step)

    def tick(self, trial_id: str, tick: Tick) -> None:
        """Pass on, and write the row when the last write is a second old."""
        self._inner.tick(trial_id, tick)
        if time.monotonic() - self._written.get(trial_id, 0.0) >= PROGRESS_EVERY_S:
            self._write(trial_id, tick)

    def step_finished(self, trial_id: str, result: StepResult) -> None:
        """Pass on."""
        self._inner.step_finished(trial_id, result)

    def note(self, trial_id: str, text: str) -> None:
        """Pass on."""
        self._inner.note(trial_id, text)

    def _runs(self, trial_id: str) -> tuple[str, ...]:
        """The run ids of a trial, loaded where the process that died had begun to measure it."""
        if trial_id not in self._run_ids:
            self._run_ids[trial_id] = load_plan(self._database, trial_id).run_ids
        return self._run_ids[trial_id]

    def _write(self, trial_id: str, tick: Tick | None) -> None:
        self._written[trial_id] = time.monotonic()
        run_id, step = self._current[trial_id]
        save_progress(
            self._database,
            run_id,
            step_index=step.index,
            step=step.name,
            round=step.round,
            tick=tick.model_dump(mode="json") if tick else None,
        )
