"""What each station of a trial does to the world; every one may be done twice and ends the same.

Errors that belong to the measurement become an Outcome. Errors that do not (the evidence store is
full, the database is gone, the host refuses us, a fault of ours) suspend the trial: it stays where
it is, its data stay on the host, and `diskbench resume` goes on from there.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from diskbench.engine.absence import Absence
from diskbench.engine.stop import Stop
from diskbench.engine.timing import Timing
from diskbench.engine.unit import time_limit_s, unit_of
from diskbench.engine.watch import Watcher
from diskbench.errors import ConnectionLost, DiskbenchError, FioFailed, MeasurementFailed
from diskbench.model.outcome import Outcome, Problem, RunEnd, problem_of
from diskbench.ports import HoldsCredit

if TYPE_CHECKING:
    import sqlalchemy as sa

    from diskbench.hosts.unit import Unit
    from diskbench.model.spec import Plan, Step
    from diskbench.ports import EvidenceStore, Host, Renter
    from diskbench.store.archive import KeptStep

T = TypeVar("T")


@dataclass
class LiveStations:
    """The stations on real hosts, a real evidence store and a real database.

    `stop` is asked by Ctrl-C and `cancel`; `suspend` parks the calling thread after telling the
    foreground why, so that the workflow stays unfinished and another process can go on with it.
    """

    database: sa.Engine
    evidence: EvidenceStore
    connect: Callable[[Plan], Host]
    watcher: Watcher
    stop: Stop
    suspend: Callable[[str, BaseException], None]
    renter: Callable[[Plan], Renter | None] = lambda _: None
    timing: Timing = field(default_factory=Timing)

    def prepare(self, plan: Plan) -> Outcome:
        """Make the trial's directories, and its filesystem where it has one."""
        from diskbench.hosts.workspace import make_workspace

        with self._suspending(plan):
            try:
                commands = self._patiently(
                    plan, lambda: make_workspace(self.connect(plan), plan.target)
                )
            except MeasurementFailed as error:
                return Outcome(state="failed", problem=problem_of(error))
            return Outcome(state="done", commands=commands)
        raise AssertionError("unreachable: a suspended station never comes back")

    def begin(self, plan: Plan) -> None:
        """Prepare, and start the first step without waiting for it; done again by the workflow."""
        from diskbench.hosts.jobs import start
        from diskbench.hosts.workspace import make_workspace
        from diskbench.plan.sequence import next_step

        first = next_step(plan, ())
        if first is not None and not self.stop.of(plan.trial_id).is_set():
            make_workspace(self.connect(plan), plan.target)
            self._hold_credit(plan, first)
            start(self.connect(plan), unit_of(plan, 0, first))

    def measure(self, plan: Plan, run_index: int, step: Step) -> Outcome:
        """Run one fio process on the host to its end and keep everything it left."""
        if self.stop.of(plan.trial_id).is_set():
            return Outcome(state="stopped", problem=_STOPPED)
        with self._suspending(plan):
            try:
                return self._measure(plan, run_index, step)
            except MeasurementFailed as error:
                return Outcome(state="failed", problem=problem_of(error))
        raise AssertionError("unreachable: a suspended station never comes back")

    def finish_run(self, plan: Plan, end: RunEnd, prepared: Outcome) -> None:
        """Write the run's manifest and its final state."""
        from diskbench.store.finish import finish_run

        with self._suspending(plan), self.timing.span("store", plan.trial_id):
            finish_run(
                self.database,
                self.evidence,
                plan,
                end.run_index,
                end.state,
                end.problem,
                preparation=prepared.commands,
            )

    def _measure(self, plan: Plan, run_index: int, step: Step) -> Outcome:
        from diskbench.store.parse_step import step_result
        from diskbench.store.rows import begin_run, save_step

        run_id = plan.run_ids[run_index]
        begin_run(self.database, run_id)
        self._hold_credit(plan, step)
        self.watcher.step_started(plan.trial_id, run_index, step)
        kept, stopped = self._run_unit(plan, run_index, step)
        if stopped:
            return Outcome(state="stopped", problem=_STOPPED)
        with self.timing.span("store", plan.trial_id):
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

    def _run_unit(self, plan: Plan, run_index: int, step: Step) -> tuple[KeptStep, bool]:
        """Run fio and keep its files, whatever way it ended; whether the user stopped it."""
        from diskbench.hosts.jobs import start_and_watch

        host, unit = self.connect(plan), unit_of(plan, run_index, step)
        hung, asked = _Deadline(time_limit_s(step)), self.stop.of(plan.trial_id)
        absence = self._absence(plan)
        try:
            with self.timing.span("start and watch", plan.trial_id):
                end = start_and_watch(
                    host,
                    unit,
                    on_tick=lambda tick: self.watcher.tick(plan.trial_id, tick),
                    should_stop=lambda: asked.is_set() or hung.passed() or absence.is_final,
                    on_note=lambda text: self.watcher.note(plan.trial_id, text),
                    on_wait=hung.restart,
                    on_lost=absence.noted,
                )
        except ConnectionLost:
            absence.raise_if_final()
            raise
        except MeasurementFailed:
            now = time.time()
            with contextlib.suppress(DiskbenchError):  # what broke the step may break this too
                self._keep(plan, run_index, step, unit, (now, now), stopped=True)
            raise
        self.timing.add("fio itself", end.seconds_in_fio, plan.trial_id)
        times = (end.started_unix_s, end.ended_unix_s)
        kept = self._keep(plan, run_index, step, unit, times, stopped=end.stopped)
        if end.stopped and hung.passed() and not asked.is_set():
            raise FioFailed(
                f"fio hung in step {step.name!r}: it was still running after {hung.limit_s:.0f} s",
                advice="what it left is in the evidence; a newer fio may not hang",
            )
        return kept, end.stopped

    def _keep(
        self,
        plan: Plan,
        run_index: int,
        step: Step,
        unit: Unit,
        times: tuple[float, float],
        *,
        stopped: bool,
    ) -> KeptStep:
        """Fetch what a unit left and write it into the evidence store."""
        from diskbench.hosts.jobs import collect
        from diskbench.store.archive import write_step_evidence

        host, run_id = self.connect(plan), plan.run_ids[run_index]
        with (
            self.timing.span("collect", plan.trial_id),
            tempfile.TemporaryDirectory(prefix="diskbench-") as directory,
        ):
            paths = self._patiently(plan, lambda: collect(host, unit, Path(directory)))
            files = {path.name: path.read_bytes() for path in paths}
        started, finished = (_iso(t) for t in times)
        with self.timing.span("store", plan.trial_id):
            return write_step_evidence(
                self.evidence,
                run_id,
                step,
                files,
                started_at=started,
                finished_at=finished,
                stopped=stopped,
            )

    def _patiently(self, plan: Plan, work: Callable[[], T]) -> T:
        from diskbench.hosts.patience import patiently

        absence = self._absence(plan)
        return patiently(work, self.stop.of(plan.trial_id).is_set, absence.noted_or_raise)

    def _absence(self, plan: Plan) -> Absence:
        return Absence(plan, self.renter(plan), lambda text: self.watcher.note(plan.trial_id, text))

    def _hold_credit(self, plan: Plan, step: Step) -> None:
        """Where burst credit can be held, filling a disk spends none (DESIGN.md, Lab)."""
        renter: object = self.renter(plan)
        if isinstance(renter, HoldsCredit):
            renter.set_credit(plan.lease_id, on=step.role != "fill")

    @contextmanager
    def _suspending(self, plan: Plan) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever it is, the trial must stay resumable
            self.suspend(plan.trial_id, error)


class _Deadline:
    """Counts from its making; never passes where there is no limit."""

    def __init__(self, limit_s: float | None) -> None:
        self.limit_s = limit_s or 0.0
        self.restart()

    def restart(self) -> None:
        """Count from now on: what came before was waiting for the disk."""
        self._end = time.monotonic() + self.limit_s if self.limit_s else None

    def passed(self) -> bool:
        return self._end is not None and time.monotonic() > self._end


_STOPPED = Problem(kind="Interrupted", message="stopped by the user")


def _iso(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, UTC).isoformat(timespec="microseconds")
