"""Admission of cells: cells that the limits allow are queued, each once, by any process at any
time, which decides under the lock of the matrix's row. A queued cell is taken afterwards by a
compare-and-swap on its owner, by whoever is first."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime

import sqlalchemy as sa

from diskbench.engine.processes import new_id
from diskbench.model.campaign import LIVE, CellRow, CellState, UntilStatus, error_columns
from diskbench.model.outcome import Problem
from diskbench.parallel import grouped
from diskbench.plan.admit import AdmissionMoment, admit
from diskbench.plan.until import may_begin
from diskbench.results.replicate_set import statuses_of
from diskbench.store.campaigns import CampaignRow, done_trials, spent_by
from diskbench.store.dialects import iso
from diskbench.store.machines import MachineRecord, list_machines
from diskbench.store.matrix_lock import Locked, locked


def admit_cells(
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
        left, further = _room_of_blocks(held, seen)
        begun = 0
        if admits:
            begun = _decide(held, machine_names, reaches, (over, live), left, further, room)
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
    left: Mapping[str, int] | None,
    further: Collection[str],
    room: int | None,
) -> int:
    """Admit and refuse cells; `left` and `further` are of `_room_of_blocks`. Returns how many were
    admitted."""
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
        waiting = [cell for cell in _first_of_blocks(waiting, left) if reaches(cell)]
    # Running cells with their actual cost so far, where that exceeds the expected one.
    others = [
        cell.model_copy(update={"cost_usd": so_far})
        if cell.state in LIVE
        and (so_far := live_usd.get(cell.trial_id or "", 0.0)) > (cell.cost_usd or 0.0)
        else cell
        for cell in held.cells
        if cell.state != "waiting"
    ]
    begin, refuse = admit([*others, *waiting], held.campaign.limits, now)
    by_position = {cell.position: cell for cell in waiting}
    for position in begin[:room]:
        held.set_cell(
            position,
            state="queued",
            attempt=by_position[position].attempt + 1,
            trial_id=new_id(),
            owner=None,
            not_before=None,
            note=None,
            queued_at=iso(held.now),
        )
    for position, problem in refuse.items():
        if by_position[position].block in further:
            _spare(held, position, problem.message)
        else:
            _end(held, position, "cancelled" if problem.is_stop else "refused", problem)
    return len(begin[:room])


def _room_of_blocks(
    held: Locked, seen: Mapping[str, UntilStatus]
) -> tuple[dict[str, int] | None, frozenset[str]]:
    """How many cells of each block may begin now, where replicates are added until an interval is
    narrow (None: no limit of this kind); and the blocks that have the least number of replicates,
    whose further cells serve only to narrow it. Cells that are not needed are spared."""
    campaign = held.campaign
    if campaign.limits.until_ci is None or campaign.state == "cancelling":
        return None, frozenset()
    left, further = dict[str, int](), set[str]()
    for name, cells in grouped(held.cells, lambda cell: cell.block).items():
        count = Counter(cell.state for cell in cells)
        room = may_begin(count, seen.get(name), campaign.limits)
        left[name] = 0 if isinstance(room, str) else room
        for cell in cells if isinstance(room, str) else ():
            if cell.state == "waiting":
                _spare(held, cell.position, str(room))
        if count["done"] >= campaign.limits.min_replicates:
            further.add(name)
    return left, frozenset(further)


def _first_of_blocks(
    waiting: Iterable[CellRow], left: Mapping[str, int] | None
) -> Iterator[CellRow]:
    """The first cells of each block, as many as it has room for."""
    taken = Counter[str]()
    for cell in waiting:
        if left is None or taken[cell.block] < left[cell.block]:
            taken[cell.block] += 1
            yield cell


def _spare(held: Locked, position: int, why: str) -> None:
    _end(held, position, "spared", Problem(kind="Spared", message=why))


def _end(held: Locked, position: int, state: CellState, problem: Problem) -> None:
    held.set_cell(position, state=state, finished_at=iso(held.now), **error_columns(problem))
