"""`diskbench run`: measure a disk, here, over SSH or on a rented machine."""

from __future__ import annotations

import importlib
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from diskbench.cli.messages import print_error
from diskbench.cli.opened import close_at_end
from diskbench.cli.run_command import Request, asked_for, with_run_options
from diskbench.engine.trial.planning import Prepared, drafts, preparing, with_notes
from diskbench.engine.trial.watch import Timing
from diskbench.plan.cost import check_cost, cost_of_plan
from diskbench.store.urls import database_file, evidence_directory

if TYPE_CHECKING:
    from diskbench.engine.session import Session

INTERRUPTED = 130


def run(**typed: Any) -> None:  # noqa: ANN401 - the options of cli/run_command.py, by name
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
    from diskbench.providers.registry import Providers
    from diskbench.results.refreshed_catalogue import open_books
    from diskbench.settings import load_settings
    from diskbench.store.evidence_place import name_store
    from diskbench.store.profile_file import find_profile

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
        importlib.import_module("diskbench.cli.foreground")
        from diskbench.cli.sessions import session_of

        prepared = looked()
        if renter is None:
            stores = database_file(database_url), evidence_directory(settings.evidence_url)
            prepared.plans = [with_notes(plan, stores) for plan in prepared.plans]
        session = session_of(settings, timing, books, providers)
        session.hosts |= prepared.hosts
    except KeyboardInterrupt:
        print("interrupted before anything was started", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    _measure(request, session, prepared, settings.evidence_url)


command_for = partial(with_run_options, run)


def _measure(request: Request, session: Session, prepared: Prepared, evidence_url: str) -> NoReturn:
    """Everything from the plans on; ends the process with its exit code."""
    from diskbench.cli.foreground import continue_detached, drive, worst
    from diskbench.engine.trial.lease import save

    for cell, error in prepared.refused:
        several = len(prepared.refused) + len(prepared.plans) > 1
        print_error(error, prefix=f"{cell.address}: " if several and cell.address else "")
    refused = [error.exit_code for _, error in prepared.refused]
    if not prepared.plans:
        raise typer.Exit(worst(refused))
    if not request.quiet:
        from diskbench.report.terminal.plan_text import print_plan

        print_plan(prepared.plans, stream=sys.stderr, brief=not request.verbose)
    if request.max_cost is not None:
        # With loops to their last round; nothing is saved or rented where that costs too much.
        costs = [cost_of_plan(plan, longest=True) for plan in prepared.plans]
        check_cost(costs, request.max_cost, request.assume_price)
    if request.detach:
        save(session, prepared.plans, owner=None)
        ids, name = [plan.trial_id for plan in prepared.plans], prepared.plans[0].campaign_id
        continue_detached(session, ids, evidence_url, name=name)
        raise typer.Exit(worst(refused))
    begin = partial(save, session, prepared.plans, owner=session.executor_id)
    code = drive(session, prepared.plans, request, begin=begin, refused=refused)
    if prepared.refused and not request.quiet:
        names = ", ".join(cell.address or "this machine" for cell, _ in prepared.refused)
        measured = f"{len(prepared.plans)} of {len(prepared.plans) + len(prepared.refused)}"
        print(f"{measured} hosts measured; not measured: {names}", file=sys.stderr)
    raise typer.Exit(code)
