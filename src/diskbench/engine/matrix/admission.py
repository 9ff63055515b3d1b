"""Admission of cells: cells that the limits allow are queued, each once, by any process.

Any process may feed a matrix at any time. It decides without a lock first, which is all that most
looks need; only where that would change something it decides again under a lock. A cell that was
admitted but not yet queued, because its process died in between, is queued by the next process.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from diskbench.engine.ids import new_id
from diskbench.engine.matrix.spend import spent_by
from diskbench.model.campaign import LIVE, error_columns
from diskbench.model.outcome import Problem
from diskbench.plan.admit import AdmissionMoment, admit, full
from diskbench.plan.until import BlockStatus, turn_of
from diskbench.results.replicate_set import statuses_of
from diskbench.store.leases import list_machines
from diskbench.store.matrix_lock import NOT_SHARED, SharedMachines, ending, locked, looked
from diskbench.store.matrix_sums import done_trials
from diskbench.store.moments import iso

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    import sqlalchemy as sa

    from diskbench.model.campaign import CellRow
    from diskbench.model.matrix import Limits
    from diskbench.store.campaigns import CampaignRow
    from diskbench.store.leases import MachineRecord
    from diskbench.store.matrix_lock import Locked

_FIRST_PAGE, _PAGE = 8, 100
"""Number of waiting cells that are read together, first and at most; our choice. Mostly one place
is free, and the next cell may have it."""


@dataclass(frozen=True)
class Taker:
    """A process that takes the cells which it lets begin, and how many more it has room for in this
    matrix, with those of the matrix that it has."""

    executor_id: str
    room: int


@dataclass(frozen=True)
class Fed:
    """A matrix after its turn: `begun` says whether cells were queued, `taken` has the trials of
    those that the process has taken, `left` says whether cells wait although places are free, and
    `by_time` whether time alone may let one begin, so that the next look must not wait for an
    event."""

    campaign: CampaignRow
    begun: bool = False
    taken: tuple[str, ...] = ()
    left: bool = False
    by_time: bool = False


def feed(
    database: sa.Engine,
    campaign: CampaignRow,
    *,
    admits: bool = True,
    reaches: Callable[[CellRow], bool] = lambda _: True,
    keep: Callable[[CampaignRow], None] = lambda _: None,
    machines: Collection[MachineRecord] | None = None,
    partitions: Collection[str] = (),
    is_free: bool = False,
    taker: Taker | None = None,
) -> Fed:
    """Admit cells that may begin, refuse cells that never may, and end a matrix whose cells have
    all ended. With `admits` False no cell is admitted, because the process is about to end. Only
    cells that this process `reaches` are admitted: cells that no worker can take would otherwise
    fill all places. `keep` is called with a matrix that is about to end, before its row is changed.
    `machines` are the shared ones whose leases are open (None: they are read). `partitions` are all
    of the matrix, where they are known: waiting cells are then not read while each of them is full.
    `is_free`: a cell of this process has just ended, so that it locks without looking first.
    `taker`: this process owns the cells that it lets begin, and begins no more than it has room
    for. Otherwise other processes would be woken to take them, while each of those whose cell ended
    waits for the lock anyway.

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
    by_time = _depends_on_time(limits)

    def decide(held: Locked) -> list[CellRow]:
        if not admits:
            return []
        rooms = _rooms(held, seen)
        return _decide(held, machine_names, reaches, (over, live), rooms, partitions, taker)

    if not is_free:
        with looked(database, campaign) as look:
            left = decide(look)
            by_time |= any(cell.not_before is not None for cell in left)
            if not look.changed and not look.is_over():
                return Fed(campaign, left=bool(left), by_time=by_time)
    with locked(database, campaign.campaign_id) as held:
        left = decide(held)
        by_time |= any(cell.not_before is not None for cell in left)
        if not held.is_over():
            return Fed(
                held.campaign,
                begun=held.changed,
                taken=tuple(held.begun) if taker is not None else (),
                left=bool(left),
                by_time=by_time,
            )
        change = {"state": "done", "finished_at": iso(held.now())}
        ended = held.campaign.model_copy(update=change)
    # A record of 10,000 cells takes seconds, in which every other worker looks at the matrix, too.
    with ending(database, campaign.campaign_id) as is_first:
        if not is_first:
            return Fed(campaign, by_time=True)
        keep(ended)
        with locked(database, campaign.campaign_id) as held:
            if not held.is_over():  # a cell was retried meanwhile
                return Fed(held.campaign, by_time=True)
            held.set_state("done", at=ended.finished_at)
            return Fed(ended)


def _depends_on_time(limits: Limits) -> bool:
    """Whether a limit changes what may begin, or what must end, as time passes."""
    times = (limits.deadline_s, limits.max_cell_s, limits.budget_usd, limits.until_ci)
    return bool(limits.calls_per_minute) or any(limit is not None for limit in times)


def _decide(
    held: Locked,
    machine_names: set[str],
    reaches: Callable[[CellRow], bool],
    usd: tuple[float, dict[str, float]],
    rooms: _Rooms | None,
    partitions: Collection[str],
    taker: Taker | None,
) -> list[CellRow]:
    """Admit and refuse cells, reading only as many waiting cells as there are places for: a matrix
    may have thousands, and this runs each time that a cell ends. Returns the cells that still wait
    although places are free."""
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
    room = None if taker is None else _room_left(taker, running)
    after, most = -1, _FIRST_PAGE
    left: list[CellRow] = []
    while True:
        shared = NOT_SHARED if now.ends else _shared(running, machine_names, limits)
        if shared.alone and not shared.free:
            return []
        nowhere = set[str]() if now.ends else full(running, limits)
        if not shared.free and partitions and all(_is_in(name, nowhere) for name in partitions):
            return []
        blocks = None if rooms is None or now.ends else rooms.open
        page = held.waiting(after=after, most=most, but_in=nowhere, blocks=blocks, shared=shared)
        if not page:
            return left
        after, most = page[-1].position, min(2 * most, _PAGE)
        waiting = {
            cell.position: cell
            for cell in (page if now.ends else _in_turn(page, rooms))
            if now.ends or reaches(cell)
        }
        decision = admit([*running, *waiting.values()], limits, now)
        begin = decision.begin
        if room is not None:
            begin = begin[:room]
            room -= len(begin)
        running += [_begin(held, waiting[position], taker) for position in begin]
        for position in begin:
            if rooms is not None:
                rooms.left[waiting[position].block] -= 1
        for position, problem in decision.refuse:
            if rooms is not None and waiting[position].block in rooms.further:
                _spare(held, position, problem.message)
            else:
                _refuse(held, position, problem)
        settled = {*begin, *(position for position, _ in decision.refuse)}
        left += [cell for cell in page if cell.position not in settled]
        if len(begin) < len(decision.begin) and not decision.refuse:
            return left  # no room: other processes read on


def _room_left(taker: Taker, running: list[CellRow]) -> int:
    """How many more cells of the matrix a process has room for. Cells that it took over from dead
    processes may be more than it has room for."""
    own = sum(cell.owner == taker.executor_id for cell in running if cell.state in LIVE)
    return max(0, taker.room - own)


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


def _is_in(partition: str, names: Collection[str]) -> bool:
    """Whether a partition (`PROVIDER` or `PROVIDER/REGION`) is among these, or its provider is."""
    return partition in names or partition.partition("/")[0] in names


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


def _begin(held: Locked, cell: CellRow, taker: Taker | None) -> CellRow:
    moment, trial_id = iso(held.now()), new_id()
    values = {
        "state": "queued",
        "attempt": cell.attempt + 1,
        "trial_id": trial_id,
        "owner": None,
        "not_before": None,
        "note": None,
        "queued_at": moment,
    }
    if taker is not None:
        values |= {"owner": taker.executor_id, "started_at": cell.started_at or moment}
    held.set_cell(cell.position, **values)
    held.begun.append(trial_id)
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
