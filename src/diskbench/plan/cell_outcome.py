"""The state of a cell after an attempt: done, failed, or queued for a later retry. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from diskbench.model.campaign import error_columns

if TYPE_CHECKING:
    from diskbench.model.campaign import CampaignState, CellRow
    from diskbench.model.matrix import Limits
    from diskbench.model.outcome import Problem, TrialEnd

FIRST_WAIT_S = 60.0
LONGEST_WAIT_S = 3600.0
"""Seconds before the second attempt; doubled for each further one up to the maximum. Our choice."""


def after(
    row: CellRow,
    limits: Limits,
    end: TrialEnd | None,
    problem: Problem | None,
    *,
    state: CampaignState,
    now: str,
) -> dict[str, Any]:
    """Return the columns that change. `state` is that of the matrix. `end` is how the cell's runs
    ended; None when no machine could be had, for the reason `problem`. With both, `problem` is why
    the runs were stopped.

    A stopped cell becomes cancelled if its matrix is; otherwise it stays queued, because its worker
    process was stopped and not the cell.
    """
    cancelling = state == "cancelling" or bool(row.cancel)
    states = {run.state for run in end.runs} if end else set()
    if end and states == {"done"}:
        return {"state": "done", **error_columns(None)}
    stopped = "interrupted" in states if problem is None else problem.is_stop
    if end and problem is None:
        problem = next((run.problem for run in end.runs if run.problem is not None), None)
    if stopped and cancelling:
        return {"state": "cancelled", **error_columns(problem)}
    if stopped:
        again = {"state": "waiting", "attempt": row.attempt - 1, "not_before": None}
        return {**again, **error_columns(None)}
    tried_again = end is None and problem is not None and problem.retryable
    if tried_again and row.attempt < limits.attempts and not cancelling:
        wait_s = min(FIRST_WAIT_S * 2 ** (row.attempt - 1), LONGEST_WAIT_S)
        moment = datetime.fromisoformat(now) + timedelta(seconds=wait_s)
        later = moment.isoformat(timespec="microseconds")
        return {"state": "waiting", "not_before": later, **error_columns(problem)}
    return {"state": "failed", **error_columns(problem)}


def zone_of(row: CellRow) -> str | None:
    """Return the zone of this attempt: each attempt takes the next zone that the matrix allows.
    None leaves the choice to the provider, which tries every zone of the region."""
    return row.zones[(row.attempt - 1) % len(row.zones)] if row.zones else None
