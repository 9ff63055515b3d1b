"""Admission: which cells of a matrix may start now, and which can never start. Pure.

Limits are never exceeded. A running cell counts against the budget with its lowest expected cost,
even when its end is uncertain, and a cell that would exceed the budget is refused before it starts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from diskbench.errors import Interrupted
from diskbench.model.campaign import LIVE
from diskbench.model.outcome import Problem
from diskbench.plan.makespan import one_at_a_time
from diskbench.units import format_duration_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.campaign import CampaignState, CellRow
    from diskbench.model.matrix import Limits


@dataclass(frozen=True)
class AdmissionMoment:
    """The inputs of a decision other than the cells: the time (UTC in ISO 8601, and seconds since
    the matrix started), the cost of its leases so far, and its state."""

    now: str
    elapsed_s: float
    spent_usd: float = 0.0
    state: CampaignState = "running"
    machines: tuple[CellRow, ...] = ()
    """One cell of each shared machine that is still rented, whichever cell uses it next."""

    @property
    def ends(self) -> bool:
        """Whether the matrix was cancelled: no further cell begins."""
        return self.state == "cancelling"


@dataclass(frozen=True)
class Decision:
    """Positions of the cells that start now, and of those that never will, each with a reason."""

    begin: tuple[int, ...] = ()
    refuse: tuple[tuple[int, Problem], ...] = ()


def admit(cells: Sequence[CellRow], limits: Limits, moment: AdmissionMoment) -> Decision:
    """Return which cells may start, in the order of their positions."""
    waiting = [cell for cell in cells if cell.state == "waiting"]
    if moment.ends:
        return Decision(refuse=tuple((cell.position, _CANCELLED) for cell in waiting))
    live = [cell for cell in cells if cell.state in LIVE]
    places = _Places(limits, live, _begun_lately(cells, moment.now))
    for cell in moment.machines:
        places.keep(cell)
    committed = moment.spent_usd + sum(cell.cost_usd or 0.0 for cell in live)
    begin: list[int] = []
    refuse: list[tuple[int, Problem]] = []
    for cell in sorted(waiting, key=lambda row: row.position):
        late = _too_late(cell, limits, moment)
        if late is not None:
            refuse.append((cell.position, late))
            continue
        if (cell.not_before or "") > moment.now or not places.free_for(cell):
            continue
        over = _too_dear(cell, limits, committed)
        if over is not None:
            # The actual cost of the running cells is not known yet, so this cell waits for it.
            if not live and not begin:
                refuse.append((cell.position, over))
            continue
        places.take(cell)
        committed += cell.cost_usd or 0.0
        begin.append(cell.position)
    return Decision(tuple(begin), tuple(refuse))


def full(cells: Sequence[CellRow], limits: Limits) -> set[str]:
    """Return the providers and regions (`PROVIDER/REGION`) whose limits these cells use up. No
    further cell there can start, unless it already has a machine."""
    live = [cell for cell in cells if cell.state in LIVE]
    most = dict(limits.per)
    most |= {cell.partition: 1 for cell in live if one_at_a_time(cell.cell.provider)}
    taken = Counter(name for cell in live for name in _names(cell))
    return {name for name, limit in most.items() if taken[name] >= limit}


class _Places:
    """Which cells may run at the same time, and how many may start in a minute. A shared machine
    runs one cell at a time and keeps its place from one cell to the next."""

    def __init__(
        self, limits: Limits, live: Sequence[CellRow], begun_lately: Sequence[CellRow]
    ) -> None:
        self._limits = limits
        self._taken = Counter[str]()
        self._begun = Counter(name for cell in begun_lately for name in _names(cell))
        self._kept: set[str] = set()
        self._used: set[str] = set()
        for cell in live:
            self._occupy(cell)

    def take(self, cell: CellRow) -> None:
        self._occupy(cell)
        self._begun.update(_names(cell))

    def keep(self, cell: CellRow) -> None:
        """Occupy the place of the machine that the cell shares."""
        if cell.machine is not None and cell.machine not in self._kept:
            self._kept.add(cell.machine)
            self._taken.update(_names(cell))

    def _occupy(self, cell: CellRow) -> None:
        if cell.machine is None:
            self._taken.update(_names(cell))
        else:
            self.keep(cell)
            self._used.add(cell.machine)

    def free_for(self, cell: CellRow) -> bool:
        if cell.machine in self._used:
            return False
        limits = self._limits.per | {_ALL: self._limits.max_parallel}
        if one_at_a_time(cell.cell.provider):
            limits[cell.partition] = 1
        rates = self._limits.calls_per_minute
        return all(
            (cell.machine in self._kept or self._taken[name] < limits.get(name, _NO_LIMIT))
            and self._begun[name] < rates.get(name, _NO_LIMIT)
            for name in _names(cell)
        )


def _begun_lately(cells: Sequence[CellRow], now: str) -> list[CellRow]:
    """Return the cells whose newest attempt started in the last minute."""
    since = datetime.fromisoformat(now) - timedelta(minutes=1)
    return [
        cell
        for cell in cells
        if cell.queued_at is not None and datetime.fromisoformat(cell.queued_at) > since
    ]


_ALL = ""
_NO_LIMIT = 10**9
_CANCELLED = Problem(
    kind="Cancelled",
    message="the matrix was cancelled before it began",
    exit_code=Interrupted.exit_code,
)


def _names(cell: CellRow) -> set[str]:
    return {_ALL, cell.cell.provider, cell.partition}


def _too_late(cell: CellRow, limits: Limits, moment: AdmissionMoment) -> Problem | None:
    if limits.deadline_s is None:
        return None
    remaining_s = limits.deadline_s - moment.elapsed_s
    needs = cell.expected_s or 0.0
    if needs <= remaining_s:
        return None
    return Problem(
        kind="DeadlineReached",
        message=f"it needs {format_duration_s(needs)}, and the deadline of "
        f"{format_duration_s(limits.deadline_s)} leaves {format_duration_s(max(0.0, remaining_s))}",
        advice="give the matrix a later deadline, then 'diskbench matrix retry --failed'",
    )


def _too_dear(cell: CellRow, limits: Limits, committed: float) -> Problem | None:
    """Why the budget does not allow the cell to begin now; None where it does."""
    if limits.budget_usd is None:
        return None
    costs = cell.cost_usd or 0.0
    if committed + costs <= limits.budget_usd:
        return None
    return Problem(
        kind="BudgetReached",
        message=f"it would cost about ${costs:.2f}, and "
        f"${max(0.0, limits.budget_usd - committed):.2f} of the budget of "
        f"${limits.budget_usd:.2f} are left",
        advice="raise the budget, then 'diskbench matrix retry --failed'",
    )
