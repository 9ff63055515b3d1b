"""Whose turn it is: which cells of a matrix may begin now, and which may never. Pure.

Limits are never passed, not even by cells whose end is uncertain: what runs counts with what it is
expected to cost at least, and a cell that would pass the budget is refused before it begins.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.model.campaign import LIVE
from diskbench.model.outcome import Problem
from diskbench.units import format_duration_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.campaign import CellRow
    from diskbench.model.matrix import Limits


@dataclass(frozen=True)
class Moment:
    """What a decision depends on beside the cells: the time, UTC in ISO 8601 and as seconds since
    the matrix began; what its leases have cost so far; whether it is being cancelled."""

    now: str
    elapsed_s: float
    spent_usd: float = 0.0
    cancelling: bool = False


@dataclass(frozen=True)
class Decision:
    """Positions of cells that begin now, and of those that never will, each with its reason."""

    begin: tuple[int, ...] = ()
    refuse: tuple[tuple[int, Problem], ...] = ()


def admit(cells: Sequence[CellRow], limits: Limits, moment: Moment) -> Decision:
    """What may begin, in the order of the cells' positions."""
    waiting = [cell for cell in cells if cell.state == "waiting"]
    if moment.cancelling:
        return Decision(refuse=tuple((cell.position, _CANCELLED) for cell in waiting))
    live = [cell for cell in cells if cell.state in LIVE]
    places = _Places(limits, live)
    committed = moment.spent_usd + sum(cell.cost_usd or 0.0 for cell in live)
    begin: list[int] = []
    refuse: list[tuple[int, Problem]] = []
    for cell in sorted(waiting, key=lambda one: one.position):
        late = _too_late(cell, limits, moment)
        if late is not None:
            refuse.append((cell.position, late))
            continue
        if (cell.not_before or "") > moment.now or not places.free_for(cell):
            continue
        over = _too_dear(cell, limits, committed, some_run=bool(live or begin))
        if over is not None:
            if over.kind == _BUDGET:
                refuse.append((cell.position, over))
            continue
        places.take(cell)
        committed += cell.cost_usd or 0.0
        begin.append(cell.position)
    return Decision(tuple(begin), tuple(refuse))


class _Places:
    """Who may run beside whom."""

    def __init__(self, limits: Limits, live: Sequence[CellRow]) -> None:
        self._limits = limits
        self._taken = Counter[str]()
        for cell in live:
            self.take(cell)

    def take(self, cell: CellRow) -> None:
        self._taken.update(_names(cell))

    def free_for(self, cell: CellRow) -> bool:
        limits = self._limits.per | {_ALL: self._limits.max_parallel}
        return all(self._taken[name] < limits.get(name, 10**9) for name in _names(cell))


_ALL = ""
_BUDGET = "BudgetReached"
_LATER = "Later"
_CANCELLED = Problem(kind="Cancelled", message="the matrix was cancelled before its turn came")


def _names(cell: CellRow) -> set[str]:
    return {_ALL, cell.cell.provider, cell.partition}


def _too_late(cell: CellRow, limits: Limits, moment: Moment) -> Problem | None:
    if limits.deadline_s is None:
        return None
    left = limits.deadline_s - moment.elapsed_s
    needs = cell.expected_s or 0.0
    if needs <= left:
        return None
    return Problem(
        kind="DeadlineReached",
        message=f"it needs {format_duration_s(needs)}, and the deadline of "
        f"{format_duration_s(limits.deadline_s)} leaves {format_duration_s(max(0.0, left))}",
        advice="give the matrix a later deadline, then 'diskbench matrix retry --failed'",
    )


def _too_dear(cell: CellRow, limits: Limits, committed: float, *, some_run: bool) -> Problem | None:
    """Why the cell may not begin for money's sake. While others run, what they really cost is not
    known yet: the cell waits for it, it is not refused."""
    if limits.budget_usd is None:
        return None
    costs = cell.cost_usd or 0.0
    if committed + costs <= limits.budget_usd:
        return None
    return Problem(
        kind=_LATER if some_run else _BUDGET,
        message=f"it would cost about ${costs:.2f}, and of the budget of "
        f"${limits.budget_usd:.2f} ${max(0.0, limits.budget_usd - committed):.2f} are left",
        advice="raise the budget, then 'diskbench matrix retry --failed'",
    )
