"""The stations of a trial: their effects, each idempotent; a step as a unit on its host; the
verdict.

Errors that belong to the measurement become an Outcome. After errors that do not (the evidence
store is full, the database is gone, the host refuses us, a fault of ours) the policy decides
(engine/trial/stop.py): the station waits and tries again, or the trial is suspended.
"""

import contextlib
import logging
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from diskbench.engine.session import Session
from diskbench.engine.trial.stop import RetryPolicy, Stop
from diskbench.engine.trial.watch import (
    HostLost,
    note_of_long_stages,
    raise_if_broken,
    step_progress,
)
from diskbench.errors import (
    ConnectionLost,
    DiskbenchError,
    EvidenceDamaged,
    Interrupted,
    MeasurementFailed,
)
from diskbench.fio.recorded import last_words
from diskbench.hosts.collect import collect
from diskbench.hosts.device import DeviceProof
from diskbench.hosts.jobs import patiently, start_and_watch, undelivered
from diskbench.hosts.unit import Unit
from diskbench.hosts.workspace import directories, make_workspace, mount_point
from diskbench.model.outcome import Outcome, Problem, RunEnd, problem_of
from diskbench.model.result import StepResult
from diskbench.model.spec import Plan, Step
from diskbench.ports import HoldsCredit, Watcher
from diskbench.store.archive import result_files, write_step_evidence
from diskbench.store.finish import finish_run
from diskbench.store.manifest import StepRecord
from diskbench.store.parse_step import step_result
from diskbench.store.query import find_runs
from diskbench.store.rows import begin_run
from diskbench.store.step_rows import save_step
from diskbench.store.where import Filter

T = TypeVar("T")
_Kept = tuple[StepRecord, Mapping[str, bytes]]
"""A closed step, and the files that its result is parsed from."""
_LATEST_UNIX_S = 253_402_300_799.0
"""The end of the year 9999, the last that a date can hold."""
PATIENCE_S = 600.0
"""A time-based fio counts as hung this many seconds after 1.5 times its runtime (fio 3.33 was seen
to hang with io_submit_mode=offload). Our choice, far beyond any stall seen on a cloud disk."""
log = logging.getLogger(__name__)


@dataclass
class LiveTrialSteps:
    """The stations on real hosts, a real evidence store and a real database.

    `stop` is set by Ctrl-C and `diskbench cancel`. A station that raises Suspended leaves its
    workflow unfinished, so that another process can continue it.
    """

    session: Session
    stop: Stop
    watcher: Watcher
    retry: RetryPolicy

    def prepare(self, plan: Plan) -> Outcome:
        """Make the trial's directories, and its filesystem where it has one. Where directories are
        all that it has, they are made with the start of its first step, in one round trip."""
        if _made_with_first_step(plan):
            return Outcome(state="done")
        asked = self.stop.of(plan.trial_id)

        def work() -> Outcome:
            try:
                commands = self._patiently(
                    plan,
                    lambda: make_workspace(self.session.connect(plan), plan.target, asked.is_set),
                )
            except Interrupted:
                return self._stopped(plan)
            except MeasurementFailed as error:
                return Outcome(state="failed", problem=problem_of(error))
            return Outcome(state="done", commands=commands)

        return self.retry.through(plan.trial_id, work, failed)

    def measure(self, plan: Plan, run_index: int, step: Step) -> Outcome:
        """Run one fio process on the host to its end and store all its files."""
        asked = self.stop.of(plan.trial_id)
        if not asked.is_set():
            self.watcher.step_started(plan.trial_id, run_index, step)

        def work() -> Outcome:
            if asked.is_set():
                return self._stopped(plan)
            try:
                return self._measure(plan, run_index, step)
            except EvidenceDamaged:
                raise  # it was measured, and its host keeps the files: they are fetched later
            except MeasurementFailed as error:
                return Outcome(state="failed", problem=problem_of(error))

        return self.retry.through(plan.trial_id, work, failed)

    def finish_run(self, plan: Plan, end: RunEnd, prepared: Outcome) -> None:
        """Write the run's manifest and its final state."""

        def work() -> None:
            database, evidence = self.session.database, self.session.evidence_of(plan.trial_id)
            with self.session.timing.span("store", plan.trial_id):
                ending = (end.run_index, end.state, end.problem)
                finish_run(database, evidence, plan, *ending, preparation=prepared.commands)

        self.retry.through(
            plan.trial_id, work, lambda problem: self.watcher.note(plan.trial_id, problem.message)
        )

    def _stopped(self, plan: Plan) -> Outcome:
        return Outcome(state="stopped", problem=self.stop.reason(plan.trial_id))

    def _measure(self, plan: Plan, run_index: int, step: Step) -> Outcome:
        run_id = plan.run_ids[run_index]
        begin_run(self.session.database, run_id)
        renter: object = self.session.renter(plan)
        if isinstance(renter, HoldsCredit):  # filling uses up none (docs/design.md#lab)
            renter.set_credit(plan.lease_id, on=step.role != "fill")
        kept = self._run_unit(plan, run_index, step)
        if kept is None:
            return self._stopped(plan)
        record, files = kept
        with self.session.timing.span("store", plan.trial_id):
            began, ended = record.started_at, record.finished_at
            result = step_result(
                step, run_id, files, plan.facts, started_at=began, finished_at=ended
            )
            save_step(self.session.database, run_id, result)
        self.watcher.step_finished(plan.trial_id, result)
        return Outcome(state="done", result=result)

    def _run_unit(self, plan: Plan, run_index: int, step: Step) -> _Kept | None:
        """Run fio and store its files, however it ended. None where the step was stopped, perhaps
        before anything was started."""
        trial_id, run_id = plan.trial_id, plan.run_ids[run_index]
        progress = step_progress(self.watcher, self.session.database, trial_id, run_id, step)
        progress(None)
        host, unit = self.session.connect(plan), unit_of(plan, run_index, step)
        asked, host_lost = self.stop.of(plan.trial_id), self._host_lost(plan)
        note = partial(self.watcher.note, trial_id)
        if plan.address is not None:  # fio runs elsewhere, and this process waits
            threading.Thread(target=_import_reader, daemon=True).start()

        try:
            with self.session.timing.span("start and watch", plan.trial_id):
                end = start_and_watch(
                    host,
                    unit,
                    on_tick=progress,
                    should_stop=lambda: asked.is_set() or host_lost.reason is not None,
                    on_note=note,
                    on_lost=host_lost.noted,
                    on_stage=note_of_long_stages(note),
                    first=directories(plan.target)
                    if (run_index, step.index) == (0, 0) and _made_with_first_step(plan)
                    else None,
                )
        except ConnectionLost:
            host_lost.raise_if_final()
            raise
        except MeasurementFailed as error:
            now, kept = time.time(), None
            with contextlib.suppress(DiskbenchError):  # what broke the step may break this too
                kept = self._keep(plan, run_index, step, unit, (now, now), stopped=True)
            words = last_words(kept[1]) if kept else ""
            raise type(error)(error.message + words, advice=error.advice) from error
        if not end.began:
            return None
        self.session.timing.add("fio itself", end.seconds_in_fio, plan.trial_id)
        times = (end.started_unix_s, end.ended_unix_s)
        if not end.started_unix_s:  # fio never ran
            times = (time.time(), time.time())
        broken = end.signal is not None or end.limit is not None
        kept = self._keep(plan, run_index, step, unit, times, stopped=end.stopped or broken)
        if end.stopped:
            return None
        raise_if_broken(end, unit, host.name, kept[1])
        return kept

    def _keep(
        self,
        plan: Plan,
        run_index: int,
        step: Step,
        unit: Unit,
        times: tuple[float, float],
        *,
        stopped: bool,
    ) -> _Kept:
        """Fetch the files of a unit and write them to the evidence store."""
        host, run_id = self.session.connect(plan), plan.run_ids[run_index]
        note = partial(self.watcher.note, plan.trial_id)
        with tempfile.TemporaryDirectory(prefix="diskbench-") as directory:
            with self.session.timing.span("collect", plan.trial_id):
                paths = self._patiently(
                    plan, lambda: collect(host, unit, Path(directory), on_note=note)
                )
            started, finished = (_iso(t) for t in times)
            with self.session.timing.span("store", plan.trial_id):
                evidence = self.session.evidence_of(plan.trial_id)
                files = {path.name: path for path in paths}
                record = write_step_evidence(
                    evidence, run_id, step, files,
                    started_at=started, finished_at=finished, stopped=stopped, on_note=note,
                )  # fmt: skip
                return record, result_files(evidence, run_id, record)

    def _patiently(self, plan: Plan, work: Callable[[], T]) -> T:
        host_lost = self._host_lost(plan)
        try:
            return patiently(work, self.stop.of(plan.trial_id).is_set, host_lost.noted_or_raise)
        except ConnectionLost as error:
            raise undelivered(error) from error

    def _host_lost(self, plan: Plan) -> HostLost:
        note = partial(self.watcher.note, plan.trial_id)
        return HostLost(plan, self.session.renter(plan), note)


def _import_reader() -> None:
    """Import what reads the logs of a step."""
    import duckdb  # noqa: F401
    import numpy.ma  # noqa: F401 - at the first call of numpy.unique


def _made_with_first_step(plan: Plan) -> bool:
    """Whether the trial's directories are all of its workspace, and are made by its units' user."""
    return plan.target.kind == "directory"


def failed(problem: Problem) -> Outcome:
    """The outcome of a station that failed with this problem."""
    return Outcome(state="failed", problem=problem)


def _iso(unix_s: float) -> str:
    """ISO 8601 of a time from a host's clock; this machine's time where no date can hold it."""
    if not 0 <= unix_s <= _LATEST_UNIX_S:
        unix_s = time.time()
    return datetime.fromtimestamp(unix_s, UTC).isoformat(timespec="microseconds")


def unit_of(plan: Plan, run_index: int, step: Step) -> Unit:
    """The unit that runs `step`; its name is unique in the run and sorts in the run's order.

    The canary (MR-13) runs before the first step and after every step: which one is the last is
    not known while it runs, and an interrupted run keeps one too. There is none where other trials
    measure on the same machine at once: it would measure them, and take processor time from their
    fio. The machines of the fake cloud are this one, and its disks are files beside each other.
    """
    target, is_fake = plan.target, plan.cell.provider == "fake"
    has_canary = not (is_fake or plan.shares_machine)
    # Of a directory, the kernel's numbers of the disk below it, where these are known.
    sampled = [target.device_number, *(disk.number for disk in target.others)]
    return Unit(
        trial_id=plan.trial_id,
        run_index=run_index,
        name=f"{step.index:03d}-{step.name}" + (f"-r{step.round}" if step.round else ""),
        state_dir=target.state_dir,
        job=step.job,
        work_dir=target.work_dir,
        guards=_guards(plan),
        sampled=" ".join(number for number in sampled if number) or None,
        drop_caches=step.page_cache == "drop",
        drop_every_s=step.drop_caches_every_s,
        canary_before=step.index == 0 and has_canary,
        canary_after=_may_be_last(plan, step) and has_canary,
        # The run time of a step without time_based depends on its disk.
        fio_limit_s=1.5 * step.expected_s + PATIENCE_S if "time_based" in step.job else None,
        if_busy="share" if is_fake else plan.cell.if_busy,
        user=plan.facts.user,
        # Raw devices and mounts are root's; a directory is measured as the user who owns it.
        root=target.kind == "device" and not plan.facts.is_root,
    )


def _may_be_last(plan: Plan, step: Step) -> bool:
    """Whether the run may end with this step: the plan's last, or the last of a round."""
    if plan.search is not None and step.name in plan.search.steps:
        return True
    if plan.loop is None:
        return step.index == len(plan.steps) - 1
    body = len(plan.steps) - plan.loop.first
    return step.round is not None and (step.index - plan.loop.first) % body == body - 1


def _guards(plan: Plan) -> tuple[DeviceProof, ...]:
    # Of the lease's own disks, which were made after the user asked for them.
    holds_data = plan.acquired is not None and plan.cell.is_from_snapshot
    mounted, guards = mount_point(plan.target), []
    for disk in plan.target.disks:
        assert disk.number
        assert disk.identity
        assert disk.size_bytes is not None
        guards.append(
            DeviceProof(
                path=disk.device,
                number=disk.number,
                identity=disk.identity,
                size_bytes=disk.size_bytes,
                mount_point=mounted,
                holds_data=holds_data,
            )
        )
    return tuple(guards)


def judge_trial(
    session: Session, trial_id: str, results: Mapping[str, Sequence[StepResult]] | None = None
) -> None:
    """Judge the runs of a trial, so that `results list` shows their figure and trust at once.
    `results` are their steps, where the caller has them.

    An error is logged and not raised: the trial is measured, and each later read judges it again.
    """
    from diskbench.results.verdicts import trial_verdicts

    try:
        runs = find_runs(session.database, [Filter("trial_id", "=", trial_id)])
        if runs:
            evidence = session.evidence_of(trial_id)
            trial_verdicts(session.database, evidence, runs, books=session.books, results=results)
    except Exception as error:  # noqa: BLE001 - whatever it is, the trial has ended well
        log.warning("no verdict yet: %s", error, extra={"trial": trial_id})
