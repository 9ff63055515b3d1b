"""Admission of cells: cells that the limits allow are queued, each once, by any process.

Any process may feed a matrix at any time; it decides under the lock of the matrix's row. A queued
cell is taken afterwards by a compare-and-swap on its owner, by whoever is first.

The cost of trials and matrices so far, computed from their leases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from diskbench.catalog.cost import cost_of_lease
from diskbench.engine.processes import new_id
from diskbench.model.campaign import LIVE, CellRow, error_columns
from diskbench.model.matrix import Limits
from diskbench.model.outcome import Problem
from diskbench.model.result import StepResult
from diskbench.model.spec import Plan
from diskbench.plan.admit import AdmissionMoment, admit, full
from diskbench.plan.until import BlockStatus, turn_of
from diskbench.results.replicate_set import statuses_of
from diskbench.store.campaigns import CampaignRow
from diskbench.store.leases import Lease
from diskbench.store.machines import MachineRecord, list_machines
from diskbench.store.matrix_lock import NOT_SHARED, Locked, SharedMachines, locked
from diskbench.store.matrix_sums import done_trials, spent_on_idle_machines, spent_on_trials
from diskbench.store.moments import iso

_FIRST_PAGE, _PAGE = 8, 100
"""Number of waiting cells that are read together, first and at most; our choice. Mostly one place
is free, and the next cell may have it."""


def feed(
    database: sa.Engine,
    campaign: CampaignRow,
    *,
    admits: bool = True,
    reaches: Callable[[CellRow], bool] = lambda _: True,
    keep: Callable[[CampaignRow], None] = lambda _: None,
    machines: Collection[MachineRecord] | None = None,
    room: int | None = None,
) -> tuple[CampaignRow, int]:
    """Admit cells that may begin, refuse cells that never may, and end a matrix whose cells have
    all ended. Returns the matrix after that, and how many cells were admitted.

    With `admits` False no cell is admitted, because the process is about to end. Only cells that
    this process `reaches` are admitted, and no more than it has `room` for (None: as many as the
    limits allow): cells that nobody takes would otherwise fill all places, and begin after a
    deadline. `keep` is called with a matrix that is about to end, before its row is changed.
    `machines` are the shared ones whose leases are open (None: they are read).

    Raises what `keep` raises; the matrix then ends at a later call.
    """
    over, live, limits = 0.0, dict[str, float](), campaign.limits
    seen: Mapping[str, BlockStatus] = {}
    # Read before the lock is taken: it only grows, and the next turn sees it.
    if limits.until_ci is not None:
        done = done_trials(database, campaign.campaign_id)
        seen = statuses_of(database, campaign.campaign_id, done, limits.until_ci)
    if limits.budget_usd is not None:
        assumed = limits.assume_price_usd_per_hour
        over, live = spent_by(database, campaign.campaign_id, assumed)
    if machines is None:
        machines = list_machines(database, campaign.campaign_id)
    machine_names = {
        machine.name for machine in machines if machine.campaign_id == campaign.campaign_id
    }
    with locked(database, campaign.campaign_id) as held:
        rooms = _rooms(held, seen)
        begun = _decide(held, machine_names, reaches, (over, live), rooms, room) if admits else 0
        if not held.is_over():
            return held.campaign, begun
        change = {"state": "done", "finished_at": iso(held.now())}
        ended = held.campaign.model_copy(update=change)
    keep(ended)  # it writes to the evidence store: not under the lock
    with locked(database, campaign.campaign_id) as held:
        if not held.is_over():  # a cell was retried meanwhile
            return held.campaign, begun
        held.set_state("done", at=ended.finished_at)
    return ended, begun


def _decide(
    held: Locked,
    machine_names: set[str],
    reaches: Callable[[CellRow], bool],
    usd: tuple[float, dict[str, float]],
    rooms: _Rooms | None,
    room: int | None,
) -> int:
    """Admit and refuse cells, reading only as many waiting cells as there are places for: this runs
    each time that a cell ends. Returns how many were admitted."""
    limits, (spent_usd, live_usd) = held.campaign.limits, usd
    lately = None
    if limits.calls_per_minute:
        lately = (held.now() - timedelta(minutes=1)).isoformat(timespec="microseconds")
    around = held.under_way(since=lately)
    moment = held.now()
    now = AdmissionMoment(
        now=moment.isoformat(timespec="microseconds"),
        elapsed_s=(moment - datetime.fromisoformat(held.campaign.created_at)).total_seconds(),
        spent_usd=spent_usd,
        state=held.campaign.state,
        machines=tuple(held.one_of_each(machine_names)),
    )
    running = [_at_least(cell, live_usd) for cell in around if cell.state != "waiting"]
    after, most, begun = -1, _FIRST_PAGE, 0
    while True:
        shared = NOT_SHARED if now.ends else _shared(running, machine_names, limits)
        if shared.alone and not shared.free:
            return begun
        nowhere = set[str]() if now.ends else full(running, limits)
        blocks = None if rooms is None or now.ends else rooms.open
        page = held.waiting(after=after, most=most, but_in=nowhere, blocks=blocks, shared=shared)
        if not page:
            return begun
        after, most = page[-1].position, min(2 * most, _PAGE)
        waiting = {
            cell.position: cell
            for cell in (page if now.ends else _in_turn(page, rooms))
            if now.ends or reaches(cell)
        }
        decision = admit([*running, *waiting.values()], limits, now)
        begin = decision.begin if room is None else decision.begin[: room - begun]
        begun += len(begin)
        running += [_begin(held, waiting[position]) for position in begin]
        for position in begin:
            if rooms is not None:
                rooms.left[waiting[position].block] -= 1
        for position, problem in decision.refuse:
            if rooms is not None and waiting[position].block in rooms.further:
                _spare(held, position, problem.message)
            else:
                _refuse(held, position, problem)
        if len(begin) < len(decision.begin) and not decision.refuse:
            return begun  # no room: other processes read on


def _shared(running: list[CellRow], machine_names: set[str], limits: Limits) -> SharedMachines:
    """Which shared machines may take a cell. Those that stand keep their places."""
    live = [cell for cell in running if cell.state in LIVE]
    used = {cell.machine for cell in live if cell.machine is not None}
    places = sum(cell.machine is None for cell in live) + len(used | machine_names)
    return SharedMachines(
        free=frozenset(machine_names - used),
        used=frozenset(used),
        alone=places >= limits.max_parallel,
    )


@dataclass(frozen=True)
class _Rooms:
    """How many cells of each block may begin now. Blocks in `further` have the least number of
    replicates; their further cells serve only to narrow the interval."""

    left: dict[str, int]
    further: frozenset[str]

    @property
    def open(self) -> set[str]:
        """The blocks of which a cell may begin."""
        return {block for block, count in self.left.items() if count > 0}


def _rooms(held: Locked, seen: Mapping[str, BlockStatus]) -> _Rooms | None:
    """How many cells of each block may begin now, where replicates are added until an interval is
    narrow; cells that are not needed are spared. None: no limit of this kind."""
    campaign = held.campaign
    if campaign.limits.until_ci is None or campaign.state == "cancelling":
        return None
    left, blocks = {}, held.counts()
    for name, count in blocks.items():
        turn = turn_of(count, seen.get(name, BlockStatus(0)), campaign.limits)
        left[name] = turn.may_begin
        for position in held.waiting_in(name) if turn.spare else ():
            _spare(held, position, turn.spare)
    least = campaign.limits.min_replicates
    return _Rooms(
        left,
        frozenset(name for name, count in blocks.items() if count.get("done", 0) >= least),
    )


def _in_turn(page: Iterable[CellRow], rooms: _Rooms | None) -> Iterator[CellRow]:
    """The first cells of each block, as many as it has room for."""
    taken = Counter[str]()
    for cell in page:
        if rooms is None or taken[cell.block] < rooms.left[cell.block]:
            taken[cell.block] += 1
            yield cell


def _spare(held: Locked, position: int, why: str) -> None:
    over = iso(held.now())
    spared = error_columns(Problem(kind="Spared", message=why))
    held.set_cell(position, state="spared", finished_at=over, **spared)


def _begin(held: Locked, cell: CellRow) -> CellRow:
    values = {
        "state": "queued",
        "attempt": cell.attempt + 1,
        "trial_id": new_id(),
        "owner": None,
        "not_before": None,
        "note": None,
        "queued_at": iso(held.now()),
    }
    held.set_cell(cell.position, **values)
    return cell.model_copy(update=values)


def _refuse(held: Locked, position: int, problem: Problem) -> None:
    held.set_cell(
        position,
        state="cancelled" if problem.is_stop else "refused",
        finished_at=iso(held.now()),
        **error_columns(problem),
    )


def _at_least(cell: CellRow, live: dict[str, float]) -> CellRow:
    """The cell with its actual cost so far where that exceeds the expected cost."""
    so_far = live.get(cell.trial_id or "", 0.0)
    if cell.state in LIVE and so_far > (cell.cost_usd or 0.0):
        return cell.model_copy(update={"cost_usd": so_far})
    return cell


Results = Mapping[str, Sequence[StepResult]]


def spent_on(lease: Lease | None, plan: Plan | None, results: Results, *, now: datetime) -> float:
    """The known cost of one trial in US dollars until `now`, transactions included."""
    if lease is None or plan is None or plan.rental is None:
        return 0.0
    rows = [row for run in results.values() for step in run for row in step.measurements]
    return cost_of_lease(lease, rows, plan.rental, now=now).known_usd


def spent_by(
    database: sa.Engine, campaign_id: str, assumed: float | None
) -> tuple[float, dict[str, float]]:
    """The cost of a matrix in US dollars without its running attempts, and the cost so far of each
    running attempt, by trial id. Where no price is known, an hour costs `assumed`."""
    over, live = spent_on_trials(database, campaign_id, assumed)
    return over + spent_on_idle_machines(database, campaign_id, assumed), live
