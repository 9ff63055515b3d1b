"""Admission: which cells of a matrix may start now, which can never start, and the state of a cell
after an attempt. Pure.

Limits are never exceeded. A running cell counts against the budget with its lowest expected cost,
even when its end is uncertain, and a cell that would exceed the budget is refused before it starts.

A route says which workers can reach a cell. It is a provider (`NAME`), or a provider and the site
from the `route:` of a matrix (`NAME/site-a`). A region is not a route: a worker that reaches a
cloud reaches all its regions.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

from diskbench.errors import Interrupted, InvalidValue, UnknownName
from diskbench.model.campaign import LIVE, CampaignState, CellRow, error_columns
from diskbench.model.matrix import Limits
from diskbench.model.outcome import Problem, RunEnd
from diskbench.plan.makespan import EVERYTHING, places
from diskbench.units import format_duration_s


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


def admit(
    cells: Sequence[CellRow], limits: Limits, moment: AdmissionMoment
) -> tuple[list[int], dict[int, Problem]]:
    """Return the positions of the cells that start now, in order, and of those that never will,
    each with the reason."""
    waiting = [cell for cell in cells if cell.state == "waiting"]
    if moment.state == "cancelling":
        return [], {cell.position: _CANCELLED for cell in waiting}
    live = [cell for cell in cells if cell.state in LIVE]
    since = datetime.fromisoformat(moment.now) - timedelta(minutes=1)
    begun = [cell for cell in cells if cell.queued_at is not None]
    lately = [cell for cell in begun if datetime.fromisoformat(str(cell.queued_at)) > since]
    places = _Places(limits, live, lately)
    for cell in moment.machines:
        places.keep(cell)
    committed = moment.spent_usd + sum(cell.cost_usd or 0.0 for cell in live)
    begin, refuse = list[int](), dict[int, Problem]()
    for cell in sorted(waiting, key=lambda row: row.position):
        if (late := _too_late(cell, limits, moment)) is not None:
            refuse[cell.position] = late
            continue
        if (cell.not_before or "") > moment.now or not places.free_for(cell):
            continue
        if (over := _too_dear(cell, limits, committed)) is not None:
            # The actual cost of the running cells is not known yet, so this cell waits for it.
            if not live and not begin:
                refuse[cell.position] = over
            continue
        places.take(cell)
        committed += cell.cost_usd or 0.0
        begin.append(cell.position)
    return begin, refuse


class _Places:
    """Which cells may run at the same time, and how many may start in a minute. A shared machine
    runs one cell at a time and keeps its place from one cell to the next."""

    def __init__(self, limits: Limits, live: Sequence[CellRow], lately: Sequence[CellRow]) -> None:
        self._limits, self._taken = limits, Counter[str]()
        self._begun = Counter(name for cell in lately for name in _limits_of(cell))
        self._kept, self._used = set[str](), set[str]()
        for cell in live:
            self._occupy(cell)

    def take(self, cell: CellRow) -> None:
        self._occupy(cell)
        self._begun.update(_limits_of(cell))

    def keep(self, cell: CellRow) -> None:
        """Occupy the place of the machine that the cell shares."""
        if cell.machine is not None and cell.machine not in self._kept:
            self._kept.add(cell.machine)
            self._taken.update(_limits_of(cell))

    def _occupy(self, cell: CellRow) -> None:
        if cell.machine is None:
            self._taken.update(_limits_of(cell))
        else:
            self.keep(cell)
            self._used.add(cell.machine)

    def free_for(self, cell: CellRow) -> bool:
        if cell.machine in self._used:
            return False
        rates = self._limits.calls_per_minute
        return all(
            (cell.machine in self._kept or self._taken[name] < most)
            and self._begun[name] < rates.get(name, _NO_LIMIT)
            for name, most in places(cell.cell.provider, cell.partition, self._limits).items()
        )


_NO_LIMIT = 10**9
_CANCELLED = Problem(
    kind="Cancelled",
    message="the matrix was cancelled before it began",
    exit_code=Interrupted.exit_code,
)


def _limits_of(cell: CellRow) -> set[str]:
    return {EVERYTHING, cell.cell.provider, cell.partition}


def _too_late(cell: CellRow, limits: Limits, moment: AdmissionMoment) -> Problem | None:
    needs = cell.expected_s or 0.0
    if limits.deadline_s is None or needs <= limits.deadline_s - moment.elapsed_s:
        return None
    remaining_s = limits.deadline_s - moment.elapsed_s
    return Problem(
        kind="DeadlineReached",
        message=f"it needs {format_duration_s(needs)}, but the deadline of "
        f"{format_duration_s(limits.deadline_s)} leaves {format_duration_s(max(0.0, remaining_s))}",
        advice="give the matrix a later deadline, then 'diskbench matrix retry --failed'",
    )


def _too_dear(cell: CellRow, limits: Limits, committed: float) -> Problem | None:
    costs = cell.cost_usd or 0.0
    if limits.budget_usd is None or committed + costs <= limits.budget_usd:
        return None
    return Problem(
        kind="BudgetReached",
        message=f"it would cost about ${costs:.2f}, and "
        f"${max(0.0, limits.budget_usd - committed):.2f} of the budget of "
        f"${limits.budget_usd:.2f} are left",
        advice="raise the budget, then 'diskbench matrix retry --failed'",
    )


FIRST_WAIT_S = 60.0
LONGEST_WAIT_S = 3600.0
"""Seconds before the second attempt; doubled for each further one up to the maximum. Our choice."""


def after(
    row: CellRow,
    limits: Limits,
    end: tuple[RunEnd, ...] | None,
    problem: Problem | None,
    *,
    state: CampaignState,
    now: str,
) -> dict[str, Any]:
    """Return the columns that change. `state` is that of the matrix. `end` is how the cell's runs
    ended; None when no machine could be had, for the reason `problem`. With both, `problem` is why
    the runs were stopped.

    A stopped cell becomes cancelled if its matrix is; otherwise it stays queued, because its worker
    process was stopped and not the cell.
    """
    cancelling = state == "cancelling" or bool(row.cancel)
    states = {run.state for run in end} if end else set()
    if end and states == {"done"}:
        return {"state": "done", **error_columns(None)}
    stopped = "interrupted" in states if problem is None else problem.is_stop
    if end and problem is None:
        problem = next((run.problem for run in end if run.problem is not None), None)
    if stopped and cancelling:
        return {"state": "cancelled", **error_columns(problem)}
    if stopped:
        attempt = row.attempt - 1
        return {"state": "waiting", "attempt": attempt, "not_before": None, **error_columns(None)}
    tried_again = end is None and problem is not None and problem.retryable
    if tried_again and row.attempt < limits.attempts and not cancelling:
        wait_s = min(FIRST_WAIT_S * 2 ** (row.attempt - 1), LONGEST_WAIT_S)
        moment = datetime.fromisoformat(now) + timedelta(seconds=wait_s)
        later = moment.isoformat(timespec="microseconds")
        return {"state": "waiting", "not_before": later, **error_columns(problem)}
    return {"state": "failed", **error_columns(problem)}


def zone_of(row: CellRow) -> str | None:
    """Return the zone of this attempt: each attempt takes the next zone that the matrix allows.
    None leaves the choice to the provider, which tries every zone of the region."""
    return row.zones[(row.attempt - 1) % len(row.zones)] if row.zones else None


EVERYWHERE = ("*",)
"""The patterns of a worker that takes cells of every route."""


def serves(patterns: Collection[str], route: str) -> bool:
    """Whether a worker with these patterns takes cells of `route`. `NAME` and `NAME/*` mean
    all of that provider, its sites included; `NAME/site-a` that site alone."""
    return any(
        fnmatchcase(route, pattern)
        or fnmatchcase(route, f"{pattern}/*")
        or (pattern.endswith("/*") and fnmatchcase(route, pattern.removesuffix("/*")))
        for pattern in patterns
    )


def read_patterns(text: str, providers: Sequence[str]) -> tuple[str, ...]:
    """Parse patterns such as `ONE/*,OTHER/site-a`. Raises UnknownName for an unknown provider,
    InvalidValue for an empty list."""
    patterns = tuple(dict.fromkeys(item.strip() for item in text.split(",") if item.strip()))
    if not patterns:
        raise InvalidValue(
            f"--queues {text!r} names no queue",
            advice="name providers, as `diskbench providers` lists them, or PROVIDER/SITE",
        )
    for pattern in patterns:
        provider = pattern.partition("/")[0]
        if not any(fnmatchcase(known, provider) for known in providers):
            raise UnknownName("provider", provider, providers)
    return patterns
