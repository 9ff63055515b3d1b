"""Planning for a machine that is not rented yet: what would be rented, and what would run on it.

A draft is a plan on assumed facts. It is saved before anything is rented, so that its trial is
listed, can be cancelled, and can be resumed when this process dies while renting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench import __version__
from diskbench.catalog.books import check_region
from diskbench.catalog.cost import priced_region
from diskbench.engine.ids import new_id
from diskbench.engine.trial.suits import check_profile_suits
from diskbench.errors import AccessDenied, DiskbenchError, InvalidValue
from diskbench.model.facts import CpuFacts, DiskFacts, HostFacts
from diskbench.plan.trial import TrialIds, rented_plan
from diskbench.plugins import plugin
from diskbench.ports import Foresees
from diskbench.units import GIB

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.catalog.books import Books
    from diskbench.fio.profiles import Profile
    from diskbench.model.rental import Rental
    from diskbench.model.spec import Cell, Plan
    from diskbench.ports import Renter

_ASSUMED_CORES = 2
_ASSUMED_MEMORY = 8 * GIB


def drafts(
    renter: Renter, cells: Sequence[Cell], profile: Profile, books: Books
) -> tuple[list[Plan], list[tuple[Cell, DiskbenchError]]]:
    """A draft for each of the `cells`, replicates of one rental, that can be planned, and the error
    of each other cell. The provider is asked once for all of them.

    Raises UserError for a fault of the request as a whole. Rents nothing.
    """
    check_rentable(renter, cells[0], profile)
    try:
        rental = renter.resolve(cells[0], books)
    except DiskbenchError as error:
        return [], [(cell, error) for cell in cells]
    campaign_id = new_id()
    plans, refused = [], []
    for cell in cells:
        try:
            plans.append(draft(cell, profile, rental, campaign_id, books))
        except DiskbenchError as error:
            refused.append((cell, error))
    return plans, refused


def check_rentable(renter: Renter, cell: Cell, profile: Profile) -> None:
    """Raise UserError for faults that can be found without a call to the provider."""
    renter.check(cell)
    check_profile_suits(profile, cell)


def draft(cell: Cell, profile: Profile, rental: Rental, campaign_id: str, books: Books) -> Plan:
    """The plan of `cell` on the machine that `rental` describes, under new ids."""
    names = TrialIds(
        campaign_id=campaign_id,
        trial_id=new_id(),
        run_ids=tuple(new_id() for _ in range(cell.runs)),
    )
    return draft_of(cell, profile, rental, names, books)


def draft_of(cell: Cell, profile: Profile, rental: Rental, names: TrialIds, books: Books) -> Plan:
    """The plan of `cell` on the machine that `rental` describes, under the ids `names`."""
    facts = _assumed_facts(rental)
    return rented_plan(cell, profile, facts, names, rental, books, version=__version__)


def _assumed_facts(rental: Rental) -> HostFacts:
    """The facts that are expected of the machine, as far as planning needs them."""
    disk, spec = rental.disk, rental.spec
    disk_facts = DiskFacts(
        name=disk.type if disk else "",
        path="",
        size_bytes=disk.size_gib * GIB * (disk.count if spec.stripe else 1) if disk else None,
    )
    return HostFacts(
        cpu=CpuFacts(count=rental.cores or _ASSUMED_CORES),
        memory_bytes=rental.memory_bytes or _ASSUMED_MEMORY,
        memory_available_bytes=rental.memory_bytes or _ASSUMED_MEMORY,
        disk=disk_facts,
        other_disks=() if spec.stripe else (disk_facts,) * (spec.count - 1),
    )


def resolve_rental(
    renter: Renter, cell: Cell, books: Books, *, offline: bool
) -> tuple[Rental, bool, tuple[str, ...]]:
    """What would be rented, whether the provider was asked, and notes on why not and on the region
    of the prices. Where access is denied, or nothing names a region, the catalogue is used. Raises
    DiskbenchError; UnknownName for a region that the catalogue does not list."""
    if not offline:
        try:
            return renter.resolve(cell, books), True, ()
        except (AccessDenied, InvalidValue) as error:
            denied = isinstance(error, AccessDenied)
            if not isinstance(renter, Foresees) or not (denied or _lacks_region(cell, error)):
                raise
            rental, notes = _foreseen(renter, cell, books)
            return rental, False, (f"not asked: {error.message}", *notes)
    if isinstance(renter, Foresees):
        rental, notes = _foreseen(renter, cell, books)
        return rental, False, notes
    raise InvalidValue(
        f"--provider {cell.provider} gives no figures offline",
        advice="leave --offline out",
        field="provider",
    )


def _lacks_region(cell: Cell, error: DiskbenchError) -> bool:
    return error.field == "region" and _named_region(cell) is None


def _named_region(cell: Cell) -> str | None:
    """The region that was typed, or that of the typed zone; None where neither was."""
    assert cell.rent is not None, "only rentals are looked up"
    if cell.rent.region or not cell.rent.zone:
        return cell.rent.region
    return plugin(cell.provider).region_of(cell.rent.zone) or cell.rent.zone


def _foreseen(renter: Foresees, cell: Cell, books: Books) -> tuple[Rental, tuple[str, ...]]:
    """What the catalogue expects; without a region with the prices of the region that it has."""
    assert cell.rent is not None, "only rentals are looked up"
    named, priced = _named_region(cell), priced_region(cell.provider)
    if named is not None:
        if cell.rent.endpoint_url is None:  # a private cloud has regions of its own
            check_region(cell.provider, named)
        return renter.foresee(cell, books), ()
    if priced is None:
        return renter.foresee(cell, books), ()
    rent = cell.rent.model_copy(update={"region": priced})
    note = f"no region is named: prices are those of {priced} (--region names another)"
    return renter.foresee(cell.model_copy(update={"rent": rent}), books), (note,)
