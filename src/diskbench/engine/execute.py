"""Driving several trials in this process: start or take over, wait, give back.

Each trial has a waiting thread of its own, so that a host that is done is given back while others
still measure, and one that fails costs the others nothing.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from diskbench.engine.keep import keep_trial_rows
from diskbench.engine.lease import release
from diskbench.engine.stations import LiveStations
from diskbench.engine.stop import Stop
from diskbench.engine.watch import Obeying
from diskbench.errors import ConnectionLost, DiskbenchError, Interrupted, ReleaseFailed
from diskbench.model.outcome import TrialEnd

if TYPE_CHECKING:
    from diskbench.engine.session import Session
    from diskbench.model.spec import Plan


@dataclass
class TrialEnding:
    """How a trial ended here: at its end, or suspended where it stood for another process."""

    plan: Plan
    end: TrialEnd | None = None
    suspended: BaseException | None = None
    stopped: bool = False
    """Whether a person asked it to stop."""
    refused: DiskbenchError | None = None
    """Why its machine could not be had."""
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


@dataclass
class _Desk:
    """Where suspended stations leave word; `over` wakes the trial's waiting thread."""

    reports: dict[str, TrialEnding]
    over: dict[str, threading.Event] = field(default_factory=dict)

    def suspend(self, trial_id: str, error: BaseException) -> None:
        self.reports[trial_id].suspended = error
        self.over[trial_id].set()
        threading.Event().wait()  # parked: the workflow must not end, so that it can be resumed


def execute(
    session: Session,
    plans: Sequence[Plan],
    watcher: Obeying,
    stop: Stop,
    *,
    take_over: bool = False,
) -> list[TrialEnding]:
    """Run `plans`, whose rows are saved and claimed by this process, to their end or suspension.

    Returns one report a plan, in order. `take_over` goes on with trials that another process began.
    """
    from diskbench.store.archive import write_plan
    from diskbench.store.database import as_unavailable
    from diskbench.store.rows import load_plan

    if take_over:
        for plan in plans:  # whoever began them may have died before it was written
            write_plan(session.evidence_of(plan.trial_id), plan)
    desk = _Desk({plan.trial_id: TrialEnding(plan) for plan in plans})
    desk.over = {plan.trial_id: threading.Event() for plan in plans}
    stations = LiveStations(
        database=session.database,
        evidence_of=session.evidence_of,
        connect=session.connect,
        watcher=watcher,
        stop=stop,
        suspend=desk.suspend,
        timing=session.timing,
        renter=session.renter,
    )
    known = {plan.trial_id: plan for plan in plans}
    early = [] if take_over else [_spawn(_begin, stations, plan) for plan in plans]
    with session.timing.span("launch"):
        from diskbench.engine.durable import process

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
    for plan in plans:
        wait = (
            process.take_over(plan.trial_id, session.executor_id)
            if take_over
            else process.start(plan.trial_id)
        )
        threads.append(_spawn(_await_end, desk, session, plan.trial_id, wait))
        threads.append(_spawn(_give_back_when_over, desk, session, plan))
    for thread in threads[1::2]:
        while thread.is_alive():
            thread.join(0.2)  # in slices, so that signals are handled meanwhile
    for plan in plans:
        desk.reports[plan.trial_id].stopped = stop.of(plan.trial_id).is_set()
    return [desk.reports[plan.trial_id] for plan in plans]


def _begin(stations: LiveStations, plan: Plan) -> None:
    """Start the first step while this process still imports its workflow engine (half a second).

    The trial's rows are written, and preparing and starting are idempotent: the workflow finds
    what was begun here, and says what went wrong if something did.
    """
    with contextlib.suppress(DiskbenchError), stations.timing.span("begin", plan.trial_id):
        stations.begin(plan)


def _await_end(
    desk: _Desk, session: Session, trial_id: str, wait: Callable[[], dict[str, object]]
) -> None:
    from diskbench.store.database import as_unavailable

    try:
        with as_unavailable(session.database):
            desk.reports[trial_id].end = TrialEnd.model_validate(wait())
    except Exception as error:  # noqa: BLE001 - a fault in the workflow itself; told, never lost
        desk.reports[trial_id].suspended = error
    desk.over[trial_id].set()


def _give_back_when_over(desk: _Desk, session: Session, plan: Plan) -> None:
    desk.over[plan.trial_id].wait()
    report = desk.reports[plan.trial_id]
    if report.end is None:
        return
    try:
        with session.timing.span("release", plan.trial_id):
            release(session, plan)
    except ReleaseFailed as error:
        report.not_released = error
    except Exception as error:  # noqa: BLE001 - the measurement is done; say what is left
        report.not_released = ReleaseFailed(
            f"not given back: {plan.target.state_dir}: {error}",
            advice=f"diskbench gc {plan.trial_id}",
        )
    finally:
        session.disconnect(plan)
        keep_timing(session, plan)


def keep_timing(session: Session, plan: Plan) -> None:
    """Keep where the trial's time went; a database that fails now has been said to fail before."""
    from diskbench.store.timings import add_timing

    with contextlib.suppress(DiskbenchError):
        add_timing(session.database, plan.trial_id, session.timing.of(plan.trial_id))
    keep_trial_rows(session, plan.trial_id)


def _spawn(work: Callable[..., None], *args: object) -> threading.Thread:
    thread = threading.Thread(target=work, args=args, daemon=True)
    thread.start()
    return thread
