"""`diskbench run`: measure a disk, here, over SSH or on a rented machine."""

import sys
from functools import partial
from typing import Any

import typer

from diskbench.cli.opened import close_at_end
from diskbench.cli.run_command import Request, asked_for, with_run_options
from diskbench.engine.trial.planning import Prepared, drafts, preparing, with_notes
from diskbench.engine.trial.watch import Timing
from diskbench.providers.registry import Providers
from diskbench.results.refreshed_catalogue import open_books
from diskbench.settings import load_settings
from diskbench.store.evidence_place import name_store
from diskbench.store.profile_file import find_profile
from diskbench.store.urls import database_file, evidence_directory

_INTERRUPTED = 130


def run(**typed: Any) -> None:  # noqa: ANN401 - each has the type of its option
    """Measure a disk with fio, keep the evidence and give a verdict on each step."""
    request = Request(**typed)
    if request.dry_run:
        from diskbench.cli.plan import plan  # which other runs do not need

        plan(**typed)
        return
    if request.until_ci is not None:
        from diskbench.cli.until import start_until  # a matrix, which other runs do not need

        start_until(request)
    cells = asked_for(request, writes=True)
    timing, books, providers = Timing(), open_books(), Providers()
    close_at_end(providers.close)
    urls = {"database_url": request.database_url, "evidence_url": request.evidence_url}
    settings = load_settings(urls)
    name_store(settings.evidence_url)
    database_url = settings.database_url.get_secret_value()
    profile = find_profile(cells[0].profile)
    try:
        renter = providers.renter(cells[0].provider)
        if renter is None:
            install = request.install_fio
            looked = preparing(cells, profile, books, install_fio=install, timing=timing)
        else:
            with timing.span("look up"):
                plans, errors = drafts(renter, cells, profile, books)
            looked = partial(Prepared, plans=plans, refused=errors)
        # The hosts answer while this process imports what comes after: half of its imports.
        from diskbench.cli.foreground import measure
        from diskbench.cli.sessions import session_of

        prepared = looked()
        if renter is None:
            stores = database_file(database_url), evidence_directory(settings.evidence_url)
            prepared.plans = [with_notes(plan, stores) for plan in prepared.plans]
        session = session_of(settings, timing, books, providers)
        session.hosts |= prepared.hosts
    except KeyboardInterrupt:
        print("interrupted before anything was started", file=sys.stderr)
        raise typer.Exit(_INTERRUPTED) from None
    measure(request, session, prepared, settings.evidence_url)


command_for = partial(with_run_options, run)
