"""Opening what the settings name: the stores alone, or a session for what rents or gives back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from diskbench.cli.opened import close_at_end

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from diskbench.catalog.books import Books
    from diskbench.engine.session import Session
    from diskbench.engine.timing import Timing
    from diskbench.settings import Settings
    from diskbench.store.evidence import ObjectEvidence

DatabaseUrl = Annotated[
    str | None, typer.Option("--database-url", help="Database (default: see `diskbench config`).")
]
EvidenceUrl = Annotated[
    str | None,
    typer.Option("--evidence-url", help="Evidence store (default: see `diskbench config`)."),
]


def opened(
    database_url: str | None, evidence_url: str | None, books: Books | None = None
) -> Session:
    """A session with the stores as flags and settings name them, on the catalogue `books` where the
    command has opened it. Raises as engine.session.open_session."""
    from diskbench.settings import load_settings

    given = {"database_url": database_url, "evidence_url": evidence_url}
    return session_of(load_settings(given).settings, books=books)


def session_of(
    settings: Settings, timing: Timing | None = None, books: Books | None = None
) -> Session:
    """A session as the settings say, on the catalogue `books` where the command has opened it.
    Raises as engine.session.open_session."""
    from diskbench.engine.session import open_session

    session = open_session(
        settings.database_url.get_secret_value(),
        settings.evidence_url,
        secret_file=settings.secret_file,
        owner=settings.owner,
        books=books,
        timing=timing,
    )
    close_at_end(session.close)
    return session


def database(url: str | None) -> Engine:
    """The database that was typed or set. Raises StoreUnavailable."""
    from diskbench.settings import load_settings
    from diskbench.store.database import open_database

    settings = load_settings({"database_url": url}).settings
    engine = open_database(settings.database_url.get_secret_value())
    close_at_end(engine.dispose)
    return engine


def evidence(url: str | None) -> ObjectEvidence:
    """The evidence store that was typed or set. Raises StoreUnavailable."""
    from diskbench.settings import load_settings
    from diskbench.store.evidence import open_evidence

    return open_evidence(load_settings({"evidence_url": url}).settings.evidence_url)
