"""From a request to plans, with every check that is possible before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from diskbench import __version__
from diskbench.catalog.books import Books
from diskbench.engine.ids import new_id
from diskbench.engine.trial.probe import ParsedOnce, probe
from diskbench.engine.trial.same_machine import queued_behind, without_canary_of_others
from diskbench.engine.trial.suits import check_profile_suits
from diskbench.engine.trial.timing import Timing
from diskbench.errors import DiskbenchError
from diskbench.fio.profiles import Profile
from diskbench.hosts.connect import host_at
from diskbench.model.spec import Cell, Plan
from diskbench.plan.expectation import with_expectation
from diskbench.plan.trial import TrialIds, make_plan
from diskbench.ports import Host
from diskbench.providers.registry import provider

AT_ONCE = 32
"""Hosts that are examined at the same time; most of the time is spent waiting for them."""


@dataclass
class Prepared:
    """The plans of the cells that can be measured, their hosts, and the errors of the others."""

    plans: list[Plan] = field(default_factory=list)
    hosts: dict[str, Host] = field(default_factory=dict)
    refused: list[tuple[Cell, DiskbenchError]] = field(default_factory=list)


def prepare(
    cells: Sequence[Cell], profile: Profile, books: Books, *, install_fio: bool, timing: Timing
) -> Prepared:
    """Examine all hosts at once and plan their cells, in the order of the cells; their hosts stay
    connected. Raises UserError for what is wrong with every cell, before any host is asked."""
    for cell in cells:
        provider(cell.provider).check(cell)
        check_profile_suits(profile, cell)
    campaign_id, parsed = new_id(), ParsedOnce()

    def examined(cell: Cell) -> tuple[Plan, Host]:
        host = host_at(cell.address or "")
        names = TrialIds(
            campaign_id=campaign_id,
            trial_id=new_id(),
            run_ids=tuple(new_id() for _ in range(cell.runs)),
        )
        with timing.span("connect and look", names.trial_id):
            plan = plan_on_host(
                host, cell, profile, names, books, install_fio=install_fio, parsed=parsed
            )
        return plan, host

    pool = ThreadPoolExecutor(max_workers=min(AT_ONCE, len(cells)))
    futures = [pool.submit(examined, cell) for cell in cells]
    pool.shutdown(wait=False)  # its threads end with their work, also if no result is read
    return _prepared(cells, futures)


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
    parsed: ParsedOnce,
) -> Plan:
    """The plan of `cell` on its existing machine, which stays connected. Raises UserError for a
    reason why it cannot be measured, with the connection closed."""
    try:
        facts = probe(host, cell, install_fio=install_fio)
        plan = make_plan(cell, profile, facts, names, version=__version__)
        plan = with_expectation(plan, books)
        parsed.check(host, plan)
    except BaseException:
        host.close()
        raise
    return plan
