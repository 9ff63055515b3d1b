"""What `diskbench results delete` asks and does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import typer

from diskbench.errors import InvalidValue

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from diskbench.model.run import Run
    from diskbench.ports import EvidenceStore
    from diskbench.store.query import Filter


def delete_runs(
    database: Engine,
    evidence: Callable[[str | None], EvidenceStore] | None,
    run_ids: Sequence[str],
    filters: Sequence[Filter],
    *,
    yes: bool,
) -> None:
    """Delete the named runs and those that meet the filters; asks first. Evidence goes before rows,
    so that a deletion that fails half-way can be repeated. `evidence` opens the store that a run's
    row names; None keeps the evidence.

    Raises InvalidValue when nothing is named, a run is still going on or has something
    left on its host, or nobody can be asked; StoreUnavailable for a store.
    """
    from diskbench.store.claims import list_claims
    from diskbench.store.leases import list_leases
    from diskbench.store.query import find_run, find_runs
    from diskbench.store.rows import FINAL_STATES
    from diskbench.store.rows import delete_runs as delete_rows

    if not run_ids and not filters:
        raise InvalidValue("nothing is named to delete", advice="give run ids, or --filter")
    found = {run.run_id: run for run in (find_run(database, run_id) for run_id in run_ids)}
    if filters:
        found |= {run.run_id: run for run in find_runs(database, filters)}
    active = {claim.trial_id for claim in list_claims(database)}
    for run in found.values():
        if run.trial_id in active and run.state not in FINAL_STATES:
            raise InvalidValue(
                f"run {run.run_id} is {run.state}",
                advice=f"stop it first: diskbench cancel {run.run_id}",
            )
    leased = {lease.lease_id for lease in list_leases(database, state="open")}
    for run in found.values():
        if run.trial_id in leased:  # gc needs its plan to know where to look
            raise InvalidValue(
                f"what run {run.run_id} put on its host was not given back yet",
                advice=f"give it back first: diskbench gc {run.trial_id}",
            )
    if not found:
        print("no run meets that; nothing deleted", file=sys.stderr)
        return
    what = f"{len(found)} run{'s' * (len(found) != 1)}" + (" and evidence" if evidence else "")
    if not yes:
        _ask(what)
    if evidence:
        _delete_evidence(database, evidence, found)
    delete_rows(database, tuple(found))
    print(f"deleted {what}")


def _delete_evidence(
    database: Engine,
    opened: Callable[[str | None], EvidenceStore],
    runs: Mapping[str, Run],
) -> None:
    """Delete what the stores hold of runs (rows by id), and of trials and matrices that are left
    without any."""
    from diskbench.store.archive import run_prefix
    from diskbench.store.kept_rows import forget_matrix, forget_trial
    from diskbench.store.rows import left_empty

    stores: dict[str | None, EvidenceStore] = {}
    for run_id, run in runs.items():
        url = run.evidence_url
        if url not in stores:
            stores[url] = opened(url)
        stores[url].delete(run_prefix(run_id))
    trials, campaigns = left_empty(database, tuple(runs))
    for store in stores.values():
        for trial_id in trials:
            forget_trial(store, trial_id)
        for campaign_id in campaigns:
            forget_matrix(store, campaign_id)


def _ask(what: str) -> None:
    if not sys.stdin.isatty():
        raise InvalidValue(f"not asked whether to delete {what}", advice="add --yes")
    typer.confirm(f"Delete {what} for good?", abort=True, err=True)
