"""Evidence records that are in no file of a run: leases, timings, cells and matrices
(store/kept_rows.py)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError
from diskbench.store.clock import iso
from diskbench.store.kept_rows import keep_begun_matrix, keep_lease, keep_matrix, keep_trial
from diskbench.store.leases import lease_and_time, load_lease, release_lease
from diskbench.store.machines import find_machine

if TYPE_CHECKING:
    from diskbench.engine.session import Session
    from diskbench.model.campaign import CellRow
    from diskbench.store.campaigns import CampaignRow
    from diskbench.store.leases import Lease

log = logging.getLogger(__name__)


def mark_released(session: Session, lease_id: str) -> None:
    """Mark a lease as released: in the evidence first, so that a database that is rebuilt from it
    never contains the lease as open. A store that cannot be written to is only logged, because the
    release has happened already.
    """
    database = session.database
    lease, now = lease_and_time(database, lease_id)
    moment = iso(now)
    if lease is not None and lease.state == "open":
        change = {"state": "released", "error": None, "released_at": moment}
        try:
            evidence = session.evidence_of(lease_id)
            keep_lease(evidence, lease.model_copy(update=change))
            machine = find_machine(database, lease_id)
            if machine is not None:
                keep_matrix(database, evidence, machine.campaign_id)
        except DiskbenchError as error:
            _not_kept("lease", lease_id, error)
    release_lease(database, lease_id, at=moment)


def keep_trial_rows(
    session: Session, trial_id: str, cell: CellRow | None = None, lease: Lease | None = None
) -> None:
    """Write the lease, timings and cell of a trial that has ended to the evidence, as they are in
    its rows; `cell` is the cell's row as it is about to be, and `lease` its lease, where the caller
    has them."""
    try:
        evidence = session.evidence_of(trial_id)
        lease = lease or load_lease(session.database, trial_id)
        if lease is not None:
            keep_lease(evidence, lease)
        keep_trial(session.database, evidence, trial_id, cell)
    except DiskbenchError as error:
        _not_kept("trial", trial_id, error)


def keep_begun(session: Session, campaign: CampaignRow) -> None:
    """Write a matrix that was begun to the evidence, with the current state of its cells, unless
    it is there already."""
    try:
        keep_begun_matrix(session.database, session.evidence, campaign.campaign_id)
    except DiskbenchError as error:
        _not_kept("matrix", campaign.campaign_id, error)


def keep_ending(session: Session, campaign: CampaignRow) -> None:
    """Write a matrix whose cells have all ended to the evidence, before its row says that it ended.
    Raises StoreUnavailable."""
    ending = {"state": campaign.state, "finished_at": campaign.finished_at}
    keep_matrix(session.database, session.evidence, campaign.campaign_id, ending=ending)


def _not_kept(what: str, name: str, error: DiskbenchError) -> None:
    log.warning(
        "the record of %s %s is not in the evidence, and a rebuild would miss it: %s",
        what, name, error.message,
    )  # fmt: skip
