"""Running several trials in this process: start or take over, wait, release.

Each trial has its own waiting thread, so that a host that has finished is released while others
still measure, and a failure of one trial does not affect the others.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.engine.trial.handing_back import hand_back
from diskbench.engine.trial.stop import Stop
from diskbench.engine.trial.trial_steps import LiveStations
from diskbench.engine.trial.watch import Watcher
from diskbench.errors import (
    ConnectionLost,
    DiskbenchError,
    Interrupted,
    ReleaseFailed,
    StoreUnavailable,
    Suspended,
)
from diskbench.model.outcome import TrialEnd
from diskbench.store.archive import write_plan
from diskbench.store.database import as_unavailable
from diskbench.store.rows import load_plan

if TYPE_CHECKING:
    from diskbench.engine.session import Session
    from diskbench.model.spec import Plan


@dataclass
class TrialEnding:
    """How a trial ended in this process: finished, or suspended for another process to resume."""

    plan: Plan
    end: TrialEnd | None = None
    suspended: BaseException | None = None
    stopped: bool = False
    """Whether it was asked to stop."""
    refused: DiskbenchError | None = None
    """Why its machine could not be rented."""
    not_released: ReleaseFailed | None = None

    @property
    def exit_code(self) -> int:
        """0 done · 1 failed · 2 environment · 3 not given back · 130 interrupted."""
        if self.not_released is not None:
            return 3
        if self.refused is not None:
            return self.refused.exit_code
        if isinstance(self.suspended, ConnectionLost) and self.stopped:
            return Interrupted.exit_code
        if self.suspended is not None:
            return self.suspended.exit_code if isinstance(self.suspended, DiskbenchError) else 1
        states = {run.state for run in self.end.runs} if self.end else {"failed"}
        if "interrupted" in states:
            return 130
        return 1 if states - {"done"} else 0


def execute(
    session: Session,
    plans: Sequence[Plan],
    watcher: Watcher,
    stop: Stop,
    *,
    take_over: bool = False,
) -> list[TrialEnding]:
    """Run `plans`, whose rows are saved and claimed by this process, to their end or suspension.

    Returns one report per plan, in order. `take_over` continues trials that another process began.
    """
    if take_over:
        for plan in plans:  # the process that began them may have died before writing this
            write_plan(session.evidence_of(plan.trial_id), plan)
    reports = [TrialEnding(plan) for plan in plans]
    stations = LiveStations(
        database=session.database,
        evidence_of=session.evidence_of,
        connect=session.connect,
        watcher=watcher,
        stop=stop,
        timing=session.timing,
        renter=session.renter,
    )
    known = {plan.trial_id: plan for plan in plans}
    early = [] if take_over else [_spawn(_begin, stations, plan) for plan in plans]
    with session.timing.span("launch"):
        from diskbench.engine.durable import process

        session.ends_work = process.stop
        with as_unavailable(session.database):
            process.launch(
                session.database,
                session.executor_id,
                stations,
                lambda trial_id: known.get(trial_id) or load_plan(session.database, trial_id),
                takes_over=take_over,
            )
    for beginning in early:
        beginning.join()
    threads = []
    for report in reports:
        trial_id = report.plan.trial_id
        wait = (
            process.take_over(trial_id, session.executor_id)
            if take_over
            else process.start(trial_id)
        )
        threads.append(_spawn(_to_its_end, session, report, wait))
    for thread in threads:
        while thread.is_alive():
            thread.join(0.2)  # in slices, so that signals are handled meanwhile
    for report in reports:
        report.stopped = stop.asked(report.plan.trial_id)
    return reports


def _begin(stations: LiveStations, plan: Plan) -> None:
    """Start the first step while this process still imports its workflow engine (half a second).

    The trial's rows are written, and preparing and starting are idempotent: the workflow finds
    what was begun here, and says what went wrong if something did.
    """
    with (
        contextlib.suppress(DiskbenchError, Suspended),
        stations.timing.span("begin", plan.trial_id),
    ):
        stations.begin(plan)


def _to_its_end(
    session: Session, report: TrialEnding, wait: Callable[[], dict[str, object]]
) -> None:
    """Wait for a trial and release what it used; a suspended trial keeps it."""
    plan = report.plan
    try:
        with as_unavailable(session.database):
            report.end = TrialEnd.model_validate(wait())
    except Suspended as suspended:
        report.suspended = suspended.error
        return
    except Exception as error:  # noqa: BLE001 - a fault in the workflow itself; always reported
        report.suspended = error
        return
    try:
        report.not_released = hand_back(session, plan)
    except StoreUnavailable as error:
        report.not_released = ReleaseFailed(
            f"not given back: {plan.target.state_dir}: {error.message}",
            advice=f"diskbench gc {plan.trial_id}",
        )


def _spawn(work: Callable[..., None], *args: object) -> threading.Thread:
    thread = threading.Thread(target=work, args=args, daemon=True)
    thread.start()
    return thread
