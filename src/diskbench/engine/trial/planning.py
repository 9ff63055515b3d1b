"""From a request to plans, of rented machines and of those that are there, with every check that is
possible before anything is written."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from diskbench import __version__
from diskbench.catalog.books import Books, check_region
from diskbench.catalog.cost import priced_region
from diskbench.engine.processes import new_id
from diskbench.engine.trial.probe import (
    parsing_once,
    probe,
    queued_behind,
    without_canary_of_others,
)
from diskbench.engine.trial.watch import Timing
from diskbench.errors import AccessDenied, DiskbenchError, ExtraMissing, InvalidValue, did_you_mean
from diskbench.fio.profiles import Profile, check_override
from diskbench.hosts.ssh import host_at
from diskbench.model.facts import CpuFacts, DiskFacts, HostFacts
from diskbench.model.rental import Rental
from diskbench.model.spec import Cell, Plan
from diskbench.plan.cells import check_several
from diskbench.plan.trial import TrialIds, make_plan
from diskbench.plugin import plugin
from diskbench.ports import Foresees, Host, Renter
from diskbench.providers.registry import Providers, provider
from diskbench.store.profile_file import find_profile
from diskbench.units import GIB

_ASSUMED_CORES = 2
_ASSUMED_MEMORY = 8 * GIB
PLANNED_OFFLINE = "the cloud was not queried; figures are from the catalogue"
AT_ONCE = 32
"""Hosts that are examined at the same time; most of the time is spent waiting for them."""


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
    names = new_ids(cell, campaign_id)
    return draft_of(cell, profile, rental, names, books)


def new_ids(cell: Cell, campaign_id: str) -> TrialIds:
    """New ids for a trial of `cell` and for its runs."""
    return TrialIds(campaign_id, new_id(), tuple(new_id() for _ in range(cell.runs)))


def draft_of(cell: Cell, profile: Profile, rental: Rental, names: TrialIds, books: Books) -> Plan:
    """The plan of `cell` on the machine that `rental` describes, under the ids `names`."""
    disk, spec = rental.disk, rental.spec
    disk_facts = DiskFacts(
        name=disk.type if disk else "",
        path="",
        size_bytes=disk.size_gib * GIB * (disk.count if spec.stripe else 1) if disk else None,
    )
    # The facts that are expected of the machine, as far as planning needs them.
    facts = HostFacts(
        cpu=CpuFacts(count=rental.cores or _ASSUMED_CORES),
        memory_bytes=rental.memory_bytes or _ASSUMED_MEMORY,
        memory_available_bytes=rental.memory_bytes or _ASSUMED_MEMORY,
        disk=disk_facts,
        other_disks=() if spec.stripe else (disk_facts,) * (spec.count - 1),
    )
    return make_plan(cell, profile, facts, names, books, version=__version__, rental=rental)


def resolve_rental(
    renter: Renter, cell: Cell, books: Books, *, offline: bool
) -> tuple[Rental, bool, tuple[str, ...]]:
    """What would be rented, whether the provider was asked, and notes on why not and on the region
    of the prices. Where access is denied, or nothing names a region, the catalogue is used. Raises
    DiskbenchError; UnknownName for a region that the catalogue does not list."""
    why: tuple[str, ...] = ()
    if not offline:
        try:
            return renter.resolve(cell, books), True, ()
        except (AccessDenied, ExtraMissing, InvalidValue) as error:
            if not isinstance(renter, Foresees) or not _cannot_ask(cell, error):
                raise
            why = (f"{PLANNED_OFFLINE} ({error.message})",)
    if not isinstance(renter, Foresees):
        raise InvalidValue(
            f"--provider {cell.provider} cannot plan offline",
            advice="leave --offline out",
            field="provider",
        )
    rental, notes = _foreseen(renter, cell, books)
    return rental, False, (*why, *notes)


def _cannot_ask(cell: Cell, error: DiskbenchError) -> bool:
    """Whether a cloud cannot be asked from here: its SDK, credentials, region, account or server is
    missing. What was typed and is wrong is another matter."""
    if not isinstance(error, InvalidValue):
        return True
    assert cell.rent is not None, "only rentals are looked up"
    typed = {
        "region": _named_region(cell),
        "endpoint_url": cell.rent.endpoint_url,
        plugin(cell.provider).account_option or "account": cell.rent.account,
    }
    return typed.get(error.field, error) is None


def _named_region(cell: Cell) -> str | None:
    """The region that was typed, or that of the typed zone; None where neither was."""
    assert cell.rent is not None, "only rentals are looked up"
    if cell.rent.region or not cell.rent.zone:
        return cell.rent.region
    return plugin(cell.provider).region_of(cell.rent.zone) or cell.rent.zone


def _foreseen(renter: Foresees, cell: Cell, books: Books) -> tuple[Rental, tuple[str, ...]]:
    """What the catalogue expects; without a region with the prices of the region that it has."""
    assert cell.rent is not None, "only rentals are looked up"
    rent, named, priced = cell.rent, _named_region(cell), priced_region(cell.provider)
    notes = []
    if named is not None and rent.endpoint_url is None:  # a private cloud has its own regions
        check_region(cell.provider, named)
    elif named is None and priced is not None:
        cell = cell.model_copy(update={"rent": rent.model_copy(update={"region": priced})})
        notes.append(f"no region is given: prices are for {priced} (--region selects another)")
    typed = rent.instance_type
    known = books.of(cell.provider).machines.types
    if typed and known and typed not in known:
        hint = did_you_mean(typed, known)
        notes.append(f"{typed} is not in the catalogue of machines; {hint}".rstrip("; "))
    return renter.foresee(cell, books), tuple(notes)


def check_profile_suits(profile: Profile, cell: Cell) -> None:
    """Raise UnknownName or InvalidValue for parameters that the profile cannot take, and for more
    disks than it can be for; needs no machine."""
    check_several(profile, cell)
    for key, text in cell.parameters:
        check_override(profile, key, text)


@dataclass
class Prepared:
    """The plans of the cells that can be measured, their hosts, and the errors of the others;
    `unasked` are the trials that were planned without asking their provider."""

    plans: list[Plan] = field(default_factory=list)
    hosts: dict[str, Host] = field(default_factory=dict)
    refused: list[tuple[Cell, DiskbenchError]] = field(default_factory=list)
    unasked: set[str] = field(default_factory=set)


def preparing(
    cells: Sequence[Cell], profile: Profile, books: Books, *, install_fio: bool, timing: Timing
) -> Callable[[], Prepared]:
    """Begin to examine all hosts at once; returns a function that waits for them, with the plans in
    the order of the cells. Their hosts stay connected. Raises UserError for what is wrong with
    every cell, before any host is asked."""
    for cell in cells:
        provider(cell.provider).check(cell)
        check_profile_suits(profile, cell)
    campaign_id, parse_once = new_id(), parsing_once()

    def examined(cell: Cell) -> tuple[Plan, Host]:
        host = host_at(cell.address or "")
        names = new_ids(cell, campaign_id)
        with timing.span("connect and look", names.trial_id):
            plan = plan_on_host(
                host, cell, profile, names, books, install_fio=install_fio, parse_once=parse_once
            )
        return plan, host

    pool = ThreadPoolExecutor(max_workers=min(AT_ONCE, len(cells)))
    futures = [pool.submit(examined, cell) for cell in cells]
    pool.shutdown(wait=False)  # its threads end with their work, also if no result is read
    return partial(_prepared, cells, futures)


def _prepared(cells: Sequence[Cell], examined: Sequence[Future[tuple[Plan, Host]]]) -> Prepared:
    prepared = Prepared()
    for cell, future in zip(cells, examined, strict=True):
        try:
            plan, host = future.result()
        except DiskbenchError as error:
            prepared.refused.append((cell, error))
            continue
        try:
            plan = queued_behind(plan, prepared.plans)
        except DiskbenchError as error:
            host.close()
            prepared.refused.append((cell, error))
        else:
            prepared.plans.append(plan)
            prepared.hosts[plan.trial_id] = host
    prepared.plans = without_canary_of_others(prepared.plans)
    return prepared


def plan_on_host(
    host: Host,
    cell: Cell,
    profile: Profile,
    names: TrialIds,
    books: Books,
    *,
    install_fio: bool,
    parse_once: Callable[[Host, Plan], None],
) -> Plan:
    """The plan of `cell` on its existing machine, which stays connected. Raises UserError for a
    reason why it cannot be measured, with the connection closed."""
    try:
        facts = probe(host, cell, install_fio=install_fio)
        plan = make_plan(cell, profile, facts, names, books, version=__version__)
        parse_once(host, plan)
    except BaseException:
        host.close()
        raise
    return plan


def preview(
    requested: Sequence[Cell], books: Books, *, install_fio: bool = False, offline: bool = False
) -> Prepared:
    """The plans of the cells of one request; with `offline` no cloud is asked. Raises UserError for
    a fault of the request as a whole."""
    profile = find_profile(requested[0].profile)
    with Providers() as providers:
        renter = providers.renter(requested[0].provider)
        if renter is not None:
            return _rented(renter, requested, profile, books, offline=offline)
    prepared = preparing(requested, profile, books, install_fio=install_fio, timing=Timing())()
    for host in prepared.hosts.values():
        host.close()
    return prepared


def _rented(
    renter: Renter, requested: Sequence[Cell], profile: Profile, books: Books, *, offline: bool
) -> Prepared:
    """The plans of rented machines, one for all replicates, because their rental is the same."""
    previewed = Prepared()
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
            previewed.plans.append(noted)
            previewed.unasked |= set() if was_asked else {plan.trial_id}
    return previewed


def with_notes(plan: Plan, stores: Iterable[Path | None]) -> Plan:
    """The plan with a note where a store of diskbench is on the measured disk, and one where the
    target is on a network filesystem."""
    notes = [*plan.notes]
    if plan.cell.provider == "local" and plan.target.kind == "directory":
        measured = _device(Path(plan.target.path))
        shared = [p for p in stores if p is not None and _device(p) == measured]
        if shared:
            path, home = shared[0], Path.home()
            shown = f"~/{path.relative_to(home)}" if path.is_relative_to(home) else path
            notes.append(
                f"{shown} is on this disk too: a few kB/s of diskbench's own writes are in the "
                "result"
            )
    if plan.facts.network_filesystem:
        notes.append(f"{plan.target.path} is on a network filesystem: the network is measured too")
    return plan.model_copy(update={"notes": tuple(notes)})


def _device(path: Path) -> int | None:
    """The filesystem's device number of a path, or of its nearest existing ancestor."""
    for candidate in (path, *path.parents):
        try:
            return candidate.stat().st_dev
        except OSError:
            continue
    return None
