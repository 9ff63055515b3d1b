"""The first step of each trial, begun on its host while this process still imports and launches its
workflow engine. This module imports only what a start needs."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING

from diskbench.engine.trial.step_unit import unit_of
from diskbench.errors import DiskbenchError, Suspended
from diskbench.hosts.jobs import start
from diskbench.hosts.workspace import directories_script, make_workspace
from diskbench.plan.sequence import next_step
from diskbench.ports import HoldsCredit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from diskbench.engine.session import Session
    from diskbench.engine.trial.stop import Stop
    from diskbench.model.spec import Plan, Step


class FirstSteps:
    """The first steps of `plans`, whose rows are saved: each is begun in a thread of its own.

    Preparing and starting are idempotent: the workflow finds what was begun here, and says what
    went wrong if something did.
    """

    def __init__(self, session: Session, stop: Stop, plans: Iterable[Plan]) -> None:
        self._session, self._stop = session, stop
        self._made: dict[str, tuple[str, ...]] = {}
        self._threads = {
            plan.trial_id: threading.Thread(target=self._begin, args=(plan,), daemon=True)
            for plan in plans
        }
        for thread in self._threads.values():
            thread.start()

    def wait(self, trial_id: str) -> None:
        """Wait until the trial's first step was begun, or could not be."""
        if trial_id in self._threads:
            self._threads[trial_id].join()

    def wait_for_all(self, within_s: float) -> None:
        """Wait until all first steps were begun, or could not be; at most `within_s` seconds."""
        end = time.monotonic() + within_s
        for thread in self._threads.values():
            thread.join(max(0.0, end - time.monotonic()))

    def take(self, trial_id: str) -> tuple[str, ...] | None:
        """The commands that made the trial's workspace a moment ago; None where it has to be
        prepared, and at the second call."""
        return self._made.pop(trial_id, None)

    def _begin(self, plan: Plan) -> None:
        session, asked = self._session, self._stop.of(plan.trial_id)
        first = next_step(plan, ())
        if first is None or asked.is_set():
            return
        with (
            contextlib.suppress(DiskbenchError, Suspended),
            session.timing.span("begin", plan.trial_id),
        ):
            host, unit = session.connect(plan), unit_of(plan, 0, first)
            if plan.target.filesystem == "none" and not unit.root:  # one round trip for both
                hold_credit(session, plan, first)
                if start(host, unit, first=directories_script(plan.target)):
                    self._made[plan.trial_id] = ()
                return
            self._made[plan.trial_id] = make_workspace(host, plan.target, asked.is_set)
            hold_credit(session, plan, first)
            start(host, unit)


def hold_credit(session: Session, plan: Plan, step: Step) -> None:
    """Switch the disk's credit off while it is filled, where the provider can do that, so that
    filling uses up none (docs/design.md#lab)."""
    renter: object = session.renter(plan)
    if isinstance(renter, HoldsCredit):
        renter.set_credit(plan.lease_id, on=step.role != "fill")
