"""Opening a session, for what measures, rents or gives back; and what was given back, in words."""

import sys
from collections.abc import Sequence
from functools import partial
from typing import TextIO

from diskbench.catalog.books import Books
from diskbench.cli.messages import print_problem
from diskbench.cli.opened import close_at_end
from diskbench.engine.cleanup.gc import give_back_expired
from diskbench.engine.session import Session, open_session
from diskbench.engine.trial.watch import Timing
from diskbench.model.ids import owned
from diskbench.model.outcome import Swept
from diskbench.providers.registry import Providers
from diskbench.settings import Settings, load_settings
from diskbench.store.evidence_place import name_store
from diskbench.store.leases import any_expired


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
    urls = {"database_url": database_url, "evidence_url": evidence_url}
    settings = load_settings(urls)
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
    session = open_session(
        settings.database_url.get_secret_value(),
        settings.evidence_url,
        secret_file=settings.secret_file,
        owner=settings.owner,
        tags=settings.tags,
        books=books,
        timing=timing,
        providers=providers,
    )
    close_at_end(session.close)
    if gives_back and any_expired(session.database):
        give_back(settings)
    return session


def give_back(settings: Settings) -> None:
    """Give back what expired while the command works; the command's end waits for it."""
    in_thread = partial(session_of, settings, gives_back=False)  # which closes it
    close_at_end(give_back_expired(in_thread, partial(print_swept, stream=sys.stderr)))


def print_swept(swept: Sequence[Swept], *, stream: TextIO) -> None:
    """What became of each lease: what it held, where, why, and what it cost; errors on stderr."""
    for item in swept:
        verb = item.outcome.replace("-", " ")
        print(f"{verb} {', '.join(item.resources)} on {item.where}: {item.reason}", file=stream)
        if not item.in_database:
            print(f"  {owned(item.lease_id, item.owner)}", file=stream)
        if item.copied:
            print(f"  its tags name lease {item.lease_id}", file=stream)
        elif item.outcome != "kept" and (cost := _cost(item)):
            print(f"  {cost}", file=stream)
        if item.problem:
            print_problem(item.problem)


def sweep_code(swept: Sequence[Swept]) -> int:
    """3 when something could not be given back, else 0."""
    return 3 if any(item.problem for item in swept) else 0


def _cost(item: Swept) -> str:
    """What a lease cost, for a person; "" where it cost nothing."""
    if item.cost is None:
        return "cost unknown: its lease is not in this database"
    hours = f"in {item.cost.hours:,.1f} h since {item.cost.since[:16].replace('T', ' ')} UTC"
    if item.cost.usd is None:
        return f"cost unknown: no price is known, {hours}"
    if item.cost.usd == 0:
        return ""
    return f"cost about ${item.cost.usd:,.2f} {hours}, at ${item.cost.hourly_usd:,.4f} an hour"
