"""Release of a trial's machine: the one function for runs, cells and failed renting."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from diskbench.engine.trial.keep_records import keep_trial_rows
from diskbench.engine.trial.lease import left_behind, release, where
from diskbench.errors import DiskbenchError, ReleaseFailed, StoreUnavailable
from diskbench.store.leases import note_lease_error
from diskbench.store.timings import add_timing

if TYPE_CHECKING:
    from diskbench.engine.session import Session
    from diskbench.model.spec import Plan


def hand_back(session: Session, plan: Plan) -> ReleaseFailed | None:
    """Release everything of a trial, close its connection, and store its timings.

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
        end_hold(session, plan)
    note_lease_error(session.database, plan.trial_id, failed.message)
    return failed


def end_hold(session: Session, plan: Plan) -> None:
    """Close the trial's connection and store its timings. Errors of the database are ignored,
    because the call before this one has reported them."""
    session.disconnect(plan)
    with contextlib.suppress(DiskbenchError):
        add_timing(session.database, plan.trial_id, session.timing.of(plan.trial_id))
    keep_trial_rows(session, plan.trial_id)
