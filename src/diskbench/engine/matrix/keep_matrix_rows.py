"""The record of a matrix in the evidence, which no file of a run has (store/kept_rows.py)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError
from diskbench.store.kept_rows import keep_begun_matrix, keep_matrix

if TYPE_CHECKING:
    from diskbench.engine.session import Session
    from diskbench.store.campaigns import CampaignRow

log = logging.getLogger(__name__)


def keep_begun(session: Session, campaign: CampaignRow) -> None:
    """Write a matrix that was begun to the evidence, with the current state of its cells, unless
    it is there already."""
    try:
        keep_begun_matrix(session.database, session.evidence, campaign.campaign_id)
    except DiskbenchError as error:
        warn_not_kept("matrix", campaign.campaign_id, error)


def keep_ending(session: Session, campaign: CampaignRow) -> None:
    """Write a matrix whose cells have all ended to the evidence, before its row says that it ended.
    Raises StoreUnavailable."""
    ending = {"state": campaign.state, "finished_at": campaign.finished_at}
    keep_matrix(session.database, session.evidence, campaign.campaign_id, ending=ending)


def warn_not_kept(what: str, name: str, error: DiskbenchError) -> None:
    """Log that the record `what` of `name` could not be written to the evidence."""
    log.warning(
        "the record of %s %s is not in the evidence, and a rebuild would miss it: %s",
        what, name, error.message,
    )  # fmt: skip
