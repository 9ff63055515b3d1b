"""Preview of what a command line would measure: nothing is saved or rented."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from diskbench.engine.ids import new_id
from diskbench.engine.trial.draft import check_rentable, draft, resolve_rental
from diskbench.engine.trial.prepare import prepare
from diskbench.engine.trial.timing import Timing
from diskbench.errors import DiskbenchError
from diskbench.plan.cells import cells
from diskbench.providers.registry import Providers
from diskbench.store.profile_file import find_profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.catalog.books import Books
    from diskbench.fio.profiles import Profile
    from diskbench.model.spec import Cell, Plan
    from diskbench.plan.cells import Request
    from diskbench.ports import Renter


@dataclass
class Previewed:
    """The plans, each with whether its provider was asked; and the cells that cannot be measured,
    each with its error."""

    plans: list[tuple[Plan, bool]] = field(default_factory=list)
    refused: list[tuple[Cell, DiskbenchError]] = field(default_factory=list)


def preview(
    request: Request, books: Books, *, install_fio: bool = False, offline: bool = False
) -> Previewed:
    """The plans of a request; with `offline` no cloud is asked. Raises UserError for a fault of the
    request as a whole."""
    profile = find_profile(request.profile)
    requested = cells(request)
    with Providers() as providers:
        renter = providers.renter(requested[0].provider)
        if renter is not None:
            return _rented(renter, requested, profile, books, offline=offline)
    prepared = prepare(requested, profile, books, install_fio=install_fio, timing=Timing())
    for host in prepared.hosts.values():
        host.close()
    return Previewed([(plan, True) for plan in prepared.plans], prepared.refused)


def _rented(
    renter: Renter, requested: Sequence[Cell], profile: Profile, books: Books, *, offline: bool
) -> Previewed:
    """The plans of rented machines, one for all replicates, because their rental is the same."""
    previewed = Previewed()
    for cell in requested:
        check_rentable(renter, cell, profile)
        if cell.replicate:
            continue
        try:
            rental, was_asked, notes = resolve_rental(renter, cell, books, offline=offline)
            plan = draft(cell, profile, rental, new_id(), books)
        except DiskbenchError as error:
            previewed.refused.append((cell, error))
        else:
            noted = plan.model_copy(update={"notes": (*notes, *plan.notes)})
            previewed.plans.append((noted, was_asked))
    return previewed
