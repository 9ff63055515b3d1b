"""Opening the stores that were typed or that the settings name, for what needs no session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from sqlalchemy.engine import Engine

from diskbench.cli.opened import close_at_end
from diskbench.cli.terminal import option
from diskbench.settings import load_settings
from diskbench.store.database import open_database
from diskbench.store.evidence_place import name_store
from diskbench.store.leases import any_expired

if TYPE_CHECKING:
    from diskbench.store.evidence import ObjectEvidence

DATABASE = "Database (default: see `diskbench config`)."
EVIDENCE = "Evidence store (default: see `diskbench config`)."
DatabaseUrl = Annotated[str | None, option("--database-url", "URL", DATABASE)]
EvidenceUrl = Annotated[str | None, option("--evidence-url", "URL", EVIDENCE)]


def database(url: str | None) -> Engine:
    """The database that was typed or set, closed when the command ends; what expired in it is given
    back meanwhile. Raises StoreUnavailable."""
    settings = load_settings({"database_url": url})
    name_store(settings.evidence_url)
    engine = open_database(settings.database_url.get_secret_value())
    close_at_end(engine.dispose)
    if any_expired(engine):
        from diskbench.cli.sessions import give_back  # a session, which lists do not need

        give_back(settings)
    return engine


def evidence(url: str | None) -> ObjectEvidence:
    """The evidence store that was typed or set. Raises StoreUnavailable."""
    from diskbench.store.evidence import open_evidence  # obstore, which lists do not need

    return open_evidence(load_settings({"evidence_url": url}).evidence_url)
