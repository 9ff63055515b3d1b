"""Release of a trial's machine, for runs and for cells, and the end of runs that it leaves."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from diskbench.engine.trial.keep_records import keep_trial_rows
from diskbench.engine.trial.lease import left_behind, release, where
from diskbench.errors import DiskbenchError, ReleaseFailed, StoreUnavailable
from diskbench.model.outcome import Problem
from diskbench.store.claims import is_unfinished
from diskbench.store.finish import finish_run
from diskbench.store.leases import note_lease_error
from diskbench.store.rows import unfinished_runs
from diskbench.store.runs import end_run_cell
from diskbench.store.timings import add_timing

if TYPE_CHECKING:
    from diskbench.engine.session import Session
    from diskbench.model.result import RunState
    from diskbench.model.spec import Plan

RELEASED = Problem(kind="Released", message="its lease was given back before it ended")


def hand_back(session: Session, plan: Plan, *, keeps: bool = True) -> ReleaseFailed | None:
    """Release everything of a trial, close its connection, and store its timings. `keeps` as in
    `end_hold`.

    Returns the error of a failed release, or None. After a failure the lease stays open with the
    error in its row, for `gc` and workers. Raises StoreUnavailable; may be called again.
    """
    try:
        with session.timing.span("release", plan.trial_id):
            release(session, plan)
    except StoreUnavailable:
        raise
    except ReleaseFailed as error:
        failed = error
    except Exception as error:  # noqa: BLE001 - a provider's fault must not keep what was measured
        failed = ReleaseFailed(
            f"not given back: {', '.join(left_behind(plan))} on {where(plan)}: {error!r}",
            advice=f"diskbench gc {plan.trial_id}",
        )
    else:
        return None
    finally:
        end_hold(session, plan, keeps=keeps)
    note_lease_error(session.database, plan.trial_id, failed.message)
    return failed


def end_hold(session: Session, plan: Plan, *, keeps: bool = True) -> None:
    """Close the trial's connection and store its timings. Errors of the database are ignored,
    because the call before this one has reported them. With `keeps` the trial's records are written
    to the evidence, too; the cell of a matrix writes them with its own end."""
    session.disconnect(plan)
    with contextlib.suppress(DiskbenchError):
        add_timing(session.database, plan.trial_id, session.timing.of(plan.trial_id))
    if keeps:
        keep_trial_rows(session, plan.trial_id)


def end_unfinished(session: Session, plan: Plan, problem: Problem, state: RunState) -> bool:
    """End the unfinished runs of a trial whose lease is gone, with `problem` as the reason. Returns
    whether the trial was unfinished."""
    if not is_unfinished(session.database, plan.trial_id):
        return False
    for run_id in unfinished_runs(session.database, plan.trial_id):
        index = plan.run_ids.index(run_id)
        finish_run(
            session.database, session.evidence_of(plan.trial_id), plan, index, state, problem
        )
    return True


def end_released(session: Session, plan: Plan) -> None:
    """End a trial whose lease was given back by somebody else than its own process: its unfinished
    runs count as cancelled, and nobody can resume it."""
    end_unfinished(session, plan, RELEASED, "cancelled")
    end_run_cell(session.database, plan.trial_id)
