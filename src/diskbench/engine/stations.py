"""What each station of a trial does to the world; every one may be done twice and ends the same.

Errors that belong to the measurement become an Outcome. Errors that do not (the evidence store is
full, the database is gone, a fault of ours) suspend the trial: it stays where it is, its data stay
on the host, and `diskbench resume` goes on from there.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from diskbench.engine.timing import Timing
from diskbench.engine.watch import Watcher
from diskbench.errors import DiskbenchError, HostUnavailable, MeasurementFailed
from diskbench.engine.unit import unit_of
from diskbench.model.outcome import Outcome, Problem

if TYPE_CHECKING:
    import sqlalchemy as sa

    from diskbench.model.result import RunState
    from diskbench.model.spec import Plan, Step
    from diskbench.ports import EvidenceStore, Host


@dataclass
class LiveStations:
    """The stations on real hosts, a real evidence store and a real database.

    `stop` is set by Ctrl-C; `suspend` parks the calling thread for good after telling the
    foreground why, so that the workflow stays unfinished and another process can go on with it.
    """

    database: sa.Engine
    evidence: EvidenceStore
    connect: Callable[[Plan], Host]
    watcher: Watcher
    stop: threading.Event
    suspend: Callable[[str, BaseException], None]
    timing: Timing = field(default_factory=Timing)

    def prepare(self, plan: Plan) -> Outcome:
        """Make the trial's directories, and its filesystem where it has one."""
        from diskbench.hosts.workspace import make_workspace

        with self._suspending(plan):
            try:
                make_workspace(self.connect(plan), plan.target)
            except (MeasurementFailed, HostUnavailable) as error:
                return Outcome(state="failed", problem=problem_of(error))
        return Outcome(state="done")

    def measure(self, plan: Plan, run_index: int, step: Step) -> Outcome:
        """Run one fio process on the host to its end and keep everything it left."""
        if self.stop.is_set():
            return Outcome(state="stopped", problem=_STOPPED)
        with self._suspending(plan):
            try:
                return self._measure(plan, run_index, step)
            except (MeasurementFailed, HostUnavailable) as error:
                return Outcome(state="failed", problem=problem_of(error))
        raise AssertionError("unreachable: a suspended station never comes back")

    def finish_run(
        self, plan: Plan, run_index: int, state: RunState, problem: Problem | None
    ) -> None:
        """Write the run's manifest and its final state."""
        from diskbench.store.finish import finish_run

        with self._suspending(plan), self.timing.span("store"):
            finish_run(self.database, self.evidence, plan, run_index, state, problem)

    def _measure(self, plan: Plan, run_index: int, step: Step) -> Outcome:
        from diskbench.hosts.jobs import collect, start_and_watch
        from diskbench.store.archive import write_step_evidence
        from diskbench.store.parse_step import step_result
        from diskbench.store.rows import begin_run, save_step

        host, run_id = self.connect(plan), plan.run_ids[run_index]
        unit = unit_of(plan, run_index, step)
        begin_run(self.database, run_id)
        self.watcher.step_started(plan.trial_id, run_index, step)
        with self.timing.span("start and watch"):
            end = start_and_watch(
                host,
                unit,
                on_tick=lambda tick: self.watcher.tick(plan.trial_id, tick),
                should_stop=self.stop.is_set,
                on_note=lambda text: self.watcher.note(plan.trial_id, text),
            )
        with tempfile.TemporaryDirectory(prefix="diskbench-") as directory:
            with self.timing.span("collect"):
                paths = collect(host, unit, Path(directory))
                files = {path.name: path.read_bytes() for path in paths}
        with self.timing.span("store"):
            kept = write_step_evidence(
                self.evidence,
                run_id,
                step,
                files,
                started_at=end.started_at,
                finished_at=end.finished_at,
                stopped=end.stopped,
            )
            if end.stopped:
                return Outcome(state="stopped", problem=_STOPPED)
            result = step_result(
                step,
                run_id,
                kept.files,
                plan.facts,
                started_at=kept.record.started_at,
                finished_at=kept.record.finished_at,
            )
            save_step(self.database, run_id, result)
        self.watcher.step_finished(plan.trial_id, result)
        return Outcome(state="done", result=result)

    @contextmanager
    def _suspending(self, plan: Plan) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever it is, the trial must stay resumable
            self.suspend(plan.trial_id, error)


_STOPPED = Problem(kind="Interrupted", message="stopped by the user")


def problem_of(error: DiskbenchError) -> Problem:
    """An error as the data that a checkpoint can hold."""
    return Problem(kind=type(error).__name__, message=error.message, advice=error.advice)
