"""Deleting runs: which may go, and their evidence before their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import InvalidValue
from diskbench.model.result import FINAL_STATES
from diskbench.results.selection import chosen
from diskbench.store.archive import run_prefix
from diskbench.store.claims import unfinished_trials
from diskbench.store.kept_rows import forget_matrix, forget_trial
from diskbench.store.leases import list_leases
from diskbench.store.query import find_runs
from diskbench.store.rows import delete_runs, left_empty

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.engine import Engine

    from diskbench.model.run import Run
    from diskbench.ports import EvidenceStore
    from diskbench.results.selection import Selection

    Runs = Mapping[str, Run]


def runs_to_delete(database: Engine, asked: Selection) -> Runs:
    """The rows, by run id, of the runs that were asked for.

    Raises UnknownName, and InvalidValue when nothing is named, when a run has not ended, and when
    its lease is still open.
    """
    if not asked:
        raise InvalidValue(
            "no run is selected", advice="select runs, or add --filter, --since or --until"
        )
    runs = {run.run_id: run for run in find_runs(database, chosen(database, asked))}
    active = set(unfinished_trials(database))
    leased = {lease.lease_id for lease in list_leases(database, state="open")}
    for run in runs.values():
        if run.trial_id in active and run.state not in FINAL_STATES:
            raise InvalidValue(
                f"run {run.run_id} is {run.state}",
                advice=f"stop it first: diskbench cancel {run.run_id}",
            )
    for run in runs.values():
        if run.trial_id in leased:  # gc needs its plan to know where to look
            raise InvalidValue(
                f"what run {run.run_id} put on its host was not given back yet",
                advice=f"give it back first: diskbench gc {run.trial_id}",
            )
    return runs


def delete_with_evidence(database: Engine, runs: Runs, store: EvidenceStore | None) -> None:
    """Delete runs, their evidence first, so that a deletion that fails half-way can be repeated;
    also the records of trials and matrices that are left without any run. None keeps the evidence.
    Raises StoreUnavailable."""
    if store is not None:
        for run_id in runs:
            store.delete(run_prefix(run_id))
        trials, campaigns = left_empty(database, tuple(runs))
        for trial_id in trials:
            forget_trial(store, trial_id)
        for campaign_id in campaigns:
            forget_matrix(store, campaign_id)
    delete_runs(database, tuple(runs))
