"""A matrix with all of its cells in memory, which no command needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.engine.matrix.status import look_at

if TYPE_CHECKING:
    import sqlalchemy as sa

    from diskbench.model.campaign import MatrixStatus
    from diskbench.store.campaigns import CampaignRow


def status_of_matrix(database: sa.Engine, campaign: CampaignRow) -> MatrixStatus:
    """The current state of the matrix and of all its cells."""
    return look_at(database, campaign).whole()
