"""Opening what the settings name: the stores alone, or a session for what rents or gives back."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from diskbench.cli.opened import close_at_end

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from diskbench.catalog.books import Books
    from diskbench.engine.session import Session
    from diskbench.engine.trial.watch import Timing
    from diskbench.providers.registry import Providers
    from diskbench.settings import Settings
    from diskbench.store.evidence import ObjectEvidence

DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database-url", metavar="URL", help="Database (default: see `diskbench config`)."
    ),
]
EvidenceUrl = Annotated[
    str | None,
    typer.Option(
        "--evidence-url", metavar="URL", help="Evidence store (default: see `diskbench config`)."
    ),
]


def opened(
    database_url: str | None,
    evidence_url: str | None,
    books: Books | None = None,
    providers: Providers | None = None,
    *,
    gives_back: bool = True,
) -> Session:
    """A session with the stores as flags and settings name them, with the catalogue `books` and the
    `providers` where the command has opened them. `gives_back`: give back what expired, unless the
    command does so itself. Raises as engine.session.open_session."""
    from diskbench.settings import load_settings
    from diskbench.store.evidence_place import name_store

    urls = {"database_url": database_url, "evidence_url": evidence_url}
    settings = load_settings(urls).settings
    name_store(settings.evidence_url)
    return session_of(settings, books=books, providers=providers, gives_back=gives_back)


def session_of(
    settings: Settings,
    timing: Timing | None = None,
    books: Books | None = None,
    providers: Providers | None = None,
    *,
    gives_back: bool = True,
) -> Session:
    """A session as the settings say, closed when the command ends, with the catalogue `books` and
    the `providers` where the command has opened them. Raises as engine.session.open_session."""
    session = _session(settings, timing, books, providers)
    close_at_end(session.close)
    if gives_back:
        _give_back_expired(session.database, settings)
    return session


def _session(
    settings: Settings,
    timing: Timing | None = None,
    books: Books | None = None,
    providers: Providers | None = None,
) -> Session:
    from diskbench.engine.session import open_session

    return open_session(
        settings.database_url.get_secret_value(),
        settings.evidence_url,
        secret_file=settings.secret_file,
        owner=settings.owner,
        books=books,
        timing=timing,
        providers=providers,
    )


def _give_back_expired(engine: Engine, settings: Settings) -> None:
    """Give back what expired while the command works; the command's end waits for it."""
    from diskbench.store.leases import any_expired

    if not any_expired(engine):
        return
    from diskbench.cli.gc import print_swept
    from diskbench.engine.cleanup.gc import give_back_expired

    close_at_end(
        give_back_expired(
            lambda: _session(settings), lambda swept: print_swept(swept, stream=sys.stderr)
        )
    )


def database(url: str | None) -> Engine:
    """The database that was typed or set, closed when the command ends; what expired in it is given
    back meanwhile. Raises StoreUnavailable."""
    from diskbench.settings import load_settings
    from diskbench.store.database import open_database
    from diskbench.store.evidence_place import name_store

    settings = load_settings({"database_url": url}).settings
    name_store(settings.evidence_url)
    engine = open_database(settings.database_url.get_secret_value())
    close_at_end(engine.dispose)
    _give_back_expired(engine, settings)
    return engine


def evidence(url: str | None) -> ObjectEvidence:
    """The evidence store that was typed or set. Raises StoreUnavailable."""
    from diskbench.settings import load_settings
    from diskbench.store.evidence import open_evidence

    return open_evidence(load_settings({"evidence_url": url}).settings.evidence_url)
