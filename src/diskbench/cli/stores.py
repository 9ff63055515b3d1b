"""Opening the stores that the settings name, for commands that only read or tidy them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from diskbench.store.evidence import ObjectEvidence

DatabaseUrl = Annotated[
    str | None, typer.Option("--database-url", help="Database (default: see `diskbench config`).")
]
EvidenceUrl = Annotated[
    str | None,
    typer.Option("--evidence-url", help="Evidence store (default: see `diskbench config`)."),
]


def database(url: str | None) -> Engine:
    """The database that was typed or set. Raises StoreUnavailable."""
    from diskbench.settings import load_settings
    from diskbench.store.database import open_database

    settings = load_settings({"database_url": url}).settings
    return open_database(settings.database_url.get_secret_value())


def evidence(url: str | None) -> ObjectEvidence:
    """The evidence store that was typed or set. Raises StoreUnavailable."""
    from diskbench.settings import load_settings
    from diskbench.store.evidence import open_evidence

    return open_evidence(load_settings({"evidence_url": url}).settings.evidence_url)
