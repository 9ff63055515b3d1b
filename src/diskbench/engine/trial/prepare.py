"""From a request to plans, with every check that is possible before anything is written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from diskbench import __version__
from diskbench.engine.ids import new_id
from diskbench.engine.trial.suits import check_profile_suits
from diskbench.errors import DiskbenchError
from diskbench.hosts.ssh import host_at
from diskbench.plugins import plugins
from diskbench.providers.registry import provider

if TYPE_CHECKING:
    from diskbench.catalog.books import Books
    from diskbench.engine.trial.probe import ParsedOnce
    from diskbench.engine.trial.timing import Timing
    from diskbench.fio.profiles import Profile
    from diskbench.model.spec import Cell, Plan
    from diskbench.plan.trial import TrialIds
    from diskbench.ports import Host

AT_ONCE = 32
"""Hosts that are examined at the same time; most of the time is spent waiting for them."""
_MANY, _SWITCH_OF_MANY_S = 8, 0.002
"""Hosts beyond which threads take turns at the interpreter after this many seconds at least: each
thread that waits for its turn wakes as often. With 32 hosts it is 6 % less CPU than with the 0.5 ms
of one host (3.03 and 3.25 s, measured 2026-11-27)."""
_NEEDED_TO_CONNECT = "diskbench.hosts.ssh_connect"
"""Imported before anything else is, since threads that import at once share one processor."""
_NEEDED_TO_LOOK = "diskbench.engine.trial.probe"
"""Imported while the hosts are connected to."""
_NEEDED_TO_PLAN = (
    "diskbench.engine.trial.same_machine",
    "diskbench.plan.trial",
    "diskbench.plan.expectation",
)
"""Imported while the hosts answer."""
_NEEDED_FOR_A_TEMPLATE = "jinja2.sandbox"
"""Imported with them, and by one thread: two that import jinja2 at once can find half of it."""


@dataclass
class Prepared:
    """The plans of the cells that can be measured, their hosts, and the errors of the others."""

    plans: list[Plan] = field(default_factory=list)
    hosts: dict[str, Host] = field(default_factory=dict)
    refused: list[tuple[Cell, DiskbenchError]] = field(default_factory=list)


class Preparation:
    """Examines all hosts in the background as soon as it is constructed, so that the caller can
    open its stores meanwhile; `result` waits, and returns the errors of single hosts."""

    def __init__(
        self,
        cells: Sequence[Cell],
        profile: Profile,
        books: Books,
        *,
        install_fio: bool,
        timing: Timing,
    ) -> None:
        for cell in cells:
            provider(cell.provider).check(cell)
            check_profile_suits(profile, cell)
        self._cells, self._profile, self._timing = cells, profile, timing
        if len(cells) > _MANY:
            sys.setswitchinterval(max(sys.getswitchinterval(), _SWITCH_OF_MANY_S))
        self._books = books
        self._install_fio = install_fio
        pool = ThreadPoolExecutor(max_workers=min(AT_ONCE, len(cells)))
        self._campaign_id = new_id()
        if any(cell.address for cell in cells):
            import_module(_NEEDED_TO_CONNECT)
        connected = [pool.submit(self._connected, cell, new_id()) for cell in cells]
        import_module(_NEEDED_TO_LOOK)
        from diskbench.engine.trial.probe import ParsedOnce

        self._parsed, self._planner = ParsedOnce(), Future[None]()
        plugins()  # they say which cloud a host is in
        self._examined_hosts = [
            pool.submit(self._examined, *pair) for pair in zip(cells, connected, strict=True)
        ]
        pool.shutdown(wait=False)  # its threads end with their work, also if no result is read
        try:
            for name in (*_NEEDED_TO_PLAN, *[_NEEDED_FOR_A_TEMPLATE] * profile.is_template):
                import_module(name)
        finally:
            self._planner.set_result(None)

    def result(self) -> Prepared:
        """Plans in the order of the cells."""
        from diskbench.engine.trial.same_machine import queued_behind, without_canary_of_others

        prepared = Prepared()
        for cell, future in zip(self._cells, self._examined_hosts, strict=True):
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

    def _connected(self, cell: Cell, trial_id: str) -> tuple[str, Host]:
        """The id of the cell's trial, and its host, connected."""
        host = host_at(cell.address or "")
        with self._timing.span("connect and look", trial_id):
            host.connect()
        return trial_id, host

    def _examined(self, cell: Cell, connected: Future[tuple[str, Host]]) -> tuple[Plan, Host]:
        from diskbench.plan.trial import TrialIds

        trial_id, host = connected.result()  # runs already: it was submitted before
        names = TrialIds(
            campaign_id=self._campaign_id,
            trial_id=trial_id,
            run_ids=tuple(new_id() for _ in range(cell.runs)),
        )
        with self._timing.span("connect and look", names.trial_id):
            plan = plan_on_host(
                host,
                cell,
                self._profile,
                names,
                self._books,
                install_fio=self._install_fio,
                parsed=self._parsed,
                planner=self._planner.result,
            )
        return plan, host


def plan_on_host(
    host: Host,
    cell: Cell,
    profile: Profile,
    names: TrialIds,
    books: Books,
    *,
    install_fio: bool,
    parsed: ParsedOnce,
    planner: Callable[[], None] = lambda: None,
) -> Plan:
    """The plan of `cell` on its existing machine, which stays connected; `planner` waits until what
    plans is imported. Raises UserError for a reason why it cannot be measured, with the connection
    closed."""
    from diskbench.engine.trial.probe import probe

    try:
        probed = probe(host, cell, install_fio=install_fio)
        planner()
        from diskbench.plan.expectation import with_expectation
        from diskbench.plan.trial import make_plan

        plan = make_plan(cell, profile, probed.facts, names, version=__version__)
        plan = with_expectation(plan, books)
        parsed.check(host, plan)
    except BaseException:
        host.close()
        raise
    return plan
