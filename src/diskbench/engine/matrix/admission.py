"""Admission of cells: cells that the limits allow are queued, each once, by any process at any
time, which decides under the lock of the matrix's row. A queued cell is taken afterwards by a
compare-and-swap on its owner, by whoever is first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from diskbench.catalog.charges import done_work
from diskbench.catalog.cost import cost_of
from diskbench.engine.processes import new_id
from diskbench.model.campaign import LIVE, CellRow, CellState, UntilStatus, error_columns
from diskbench.model.outcome import Problem
from diskbench.model.result import StepResult
from diskbench.model.spec import Plan
from diskbench.plan.admit import AdmissionMoment, admit
from diskbench.plan.until import may_begin
from diskbench.results.replicate_set import statuses_of
from diskbench.store.campaigns import CampaignRow
from diskbench.store.clock import iso
from diskbench.store.leases import Lease
from diskbench.store.machines import MachineRecord, list_machines
from diskbench.store.matrix_lock import Locked, locked
from diskbench.store.matrix_sums import done_trials, spent_by


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
    seen: Mapping[str, UntilStatus] = {}
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
        if not held.is_over:
            return held.campaign, begun
        change = {"state": "done", "finished_at": iso(held.now)}
        ended = held.campaign.model_copy(update=change)
    keep(ended)  # it writes to the evidence store: not under the lock
    with locked(database, campaign.campaign_id) as held:
        if not held.is_over:  # a cell was retried meanwhile
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
    """Admit and refuse cells. Returns how many were admitted."""
    spent_usd, live_usd = usd
    on_machine = {cell.machine: cell for cell in reversed(held.cells)}
    now = AdmissionMoment(
        now=held.now.isoformat(timespec="microseconds"),
        elapsed_s=(held.now - datetime.fromisoformat(held.campaign.created_at)).total_seconds(),
        spent_usd=spent_usd,
        state=held.campaign.state,
        machines=tuple(on_machine[name] for name in sorted(machine_names & on_machine.keys())),
    )
    waiting = [cell for cell in held.cells if cell.state == "waiting"]
    if now.state != "cancelling":
        waiting = [cell for cell in _in_turn(waiting, rooms) if reaches(cell)]
    # Running cells with their actual cost so far, where that exceeds the expected one.
    others = [
        cell.model_copy(update={"cost_usd": so_far})
        if cell.state in LIVE
        and (so_far := live_usd.get(cell.trial_id or "", 0.0)) > (cell.cost_usd or 0.0)
        else cell
        for cell in held.cells
        if cell.state != "waiting"
    ]
    decision = admit([*others, *waiting], held.campaign.limits, now)
    by_position = {cell.position: cell for cell in waiting}
    begin = decision.begin[:room]
    for position in begin:
        _begin(held, by_position[position])
    further = rooms.further if rooms is not None else frozenset()
    for position, problem in decision.refuse:
        if by_position[position].block in further:
            _spare(held, position, problem.message)
        else:
            _refuse(held, position, problem)
    return len(begin)


@dataclass(frozen=True)
class _Rooms:
    """How many cells of each block may begin now. Blocks in `further` have the least number of
    replicates; their further cells serve only to narrow the interval."""

    left: dict[str, int]
    further: frozenset[str]


def _rooms(held: Locked, seen: Mapping[str, UntilStatus]) -> _Rooms | None:
    """How many cells of each block may begin now, where replicates are added until an interval is
    narrow; cells that are not needed are spared. None: no limit of this kind."""
    campaign = held.campaign
    if campaign.limits.until_ci is None or campaign.state == "cancelling":
        return None
    left, blocks = {}, dict[str, Counter[CellState]]()
    for cell in held.cells:
        blocks.setdefault(cell.block, Counter())[cell.state] += 1
    for name, count in blocks.items():
        room = may_begin(count, seen.get(name), campaign.limits)
        left[name] = 0 if isinstance(room, str) else room
        for cell in held.cells if isinstance(room, str) else ():
            if cell.block == name and cell.state == "waiting":
                _spare(held, cell.position, str(room))
    least = campaign.limits.min_replicates
    return _Rooms(left, frozenset(name for name, count in blocks.items() if count["done"] >= least))


def _in_turn(waiting: Iterable[CellRow], rooms: _Rooms | None) -> Iterator[CellRow]:
    """The first cells of each block, as many as it has room for."""
    taken = Counter[str]()
    for cell in waiting:
        if rooms is None or taken[cell.block] < rooms.left[cell.block]:
            taken[cell.block] += 1
            yield cell


def _spare(held: Locked, position: int, why: str) -> None:
    over = iso(held.now)
    spared = error_columns(Problem(kind="Spared", message=why))
    held.set_cell(position, state="spared", finished_at=over, **spared)


def _begin(held: Locked, cell: CellRow) -> None:
    held.set_cell(
        cell.position,
        state="queued",
        attempt=cell.attempt + 1,
        trial_id=new_id(),
        owner=None,
        not_before=None,
        note=None,
        queued_at=iso(held.now),
    )


def _refuse(held: Locked, position: int, problem: Problem) -> None:
    held.set_cell(
        position,
        state="cancelled" if problem.is_stop else "refused",
        finished_at=iso(held.now),
        **error_columns(problem),
    )


def spent_on(
    lease: Lease | None,
    plan: Plan | None,
    results: Mapping[str, Sequence[StepResult]],
    *,
    now: datetime,
) -> float:
    """The known cost of one trial in US dollars until `now`, transactions included."""
    if lease is None or plan is None or plan.rental is None:
        return 0.0
    rows = [row for run in results.values() for step in run for row in step.measurements]
    return cost_of(plan.rental, lease.age_s(now), done_work(rows)).known_usd
