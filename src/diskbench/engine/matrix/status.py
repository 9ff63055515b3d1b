"""What the database says of matrices and workers: the progress of a matrix and its cells; the
workers, their work, the queues and the open leases."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import sqlalchemy as sa

from diskbench.engine.cleanup.gc import cost_of_lease, leases_at_work
from diskbench.engine.matrix.campaign import runs_now
from diskbench.engine.processes import living
from diskbench.engine.work import OngoingWork
from diskbench.model.campaign import (
    LIVE,
    CellRow,
    CellSeen,
    CellStatus,
    FleetDocument,
    LeaseSeen,
    MatrixStatus,
    QueueSeen,
    WorkerSeen,
)
from diskbench.plan.admit import serves
from diskbench.plan.makespan import Task, makespan_s
from diskbench.results.replicate_set import until_statuses
from diskbench.store.campaigns import (
    CampaignRow,
    list_campaigns,
    load_cells,
    run_cells,
    spent_by,
    unfinished_cells,
)
from diskbench.store.database import database_time
from diskbench.store.dialects import iso, ulid_time
from diskbench.store.executors import Executor, list_executors
from diskbench.store.leases import Lease, list_leases
from diskbench.store.machines import list_machines
from diskbench.store.rows import Progress, find_plan, progress_of_trials
from diskbench.units import format_duration_s, format_iops


def matrix_status(
    database: sa.Engine, campaign: CampaignRow, *, cells: bool = True, until: bool = True
) -> MatrixStatus:
    """The current state of the matrix and of all its cells; without `cells` its totals alone.
    Without `until` no interval of replicates is computed."""
    rows = load_cells(database, campaign.campaign_id)
    assumed = campaign.limits.assume_price_usd_per_hour
    over, live = spent_by(database, campaign.campaign_id, assumed)
    return MatrixStatus(
        campaign_id=campaign.campaign_id,
        name=campaign.name,
        state=campaign.state,
        created_at=campaign.created_at,
        finished_at=campaign.finished_at,
        for_workers=campaign.queue is None,
        worked_on=_is_worked_on(database, campaign, rows),
        budget_usd=campaign.limits.budget_usd,
        max_parallel=campaign.limits.max_parallel,
        counts=dict(Counter(cell.state for cell in rows)),
        spent_usd=over + sum(live.values()),
        unpriced=sum(cell.hourly_usd is None and cell.started_at is not None for cell in rows),
        expected_end=_expected_end(database, campaign, rows),
        cells=_cell_statuses(database, rows, live) if cells else (),
        until=until_statuses(database, campaign) if until else (),
    )


def _cell_statuses(
    database: sa.Engine, cells: Sequence[CellRow], live_usd: Mapping[str, float]
) -> tuple[CellStatus, ...]:
    """The cells, each with what it does; `live_usd` is the cost so far of each running attempt, by
    trial id."""
    running = [cell.trial_id for cell in cells if cell.state in LIVE and cell.trial_id]
    progress = progress_of_trials(database, running) if running else {}
    return tuple(
        CellStatus(
            row=cell,
            doing=doing(cell, progress.get(trial_id)),
            spent_usd=live_usd.get(trial_id, cell.cost_usd or 0.0) if cell.started_at else 0.0,
        )
        for cell, trial_id in ((cell, cell.trial_id or "") for cell in cells)
    )


def _is_worked_on(database: sa.Engine, campaign: CampaignRow, cells: Sequence[CellRow]) -> bool:
    """Whether a live process runs the matrix, or a live worker reaches any unfinished cell."""
    if campaign.queue is not None:
        return runs_now(database, campaign)
    executors = list_executors(database)
    alive = living(executors)
    left = {cell.route for cell in cells if cell.finished_at is None}
    return any(
        serves(executor.queues or (), route)
        for executor in executors
        if executor.executor_id in alive
        for route in left
    )


def _expected_end(
    database: sa.Engine, campaign: CampaignRow, cells: Sequence[CellRow]
) -> str | None:
    """When the last cell should end (ISO 8601), if each cell takes its expected time; None where an
    expected time is not known, or no cell is left."""
    now = database_time(database)
    tasks, waiting = list[Task](), list[Task]()
    for cell in cells:
        if cell.state not in {"waiting", *LIVE}:
            continue
        if cell.expected_s is None:
            return None
        elapsed_s = 0.0
        if cell.state in LIVE and cell.started_at is not None:
            elapsed_s = (now - datetime.fromisoformat(cell.started_at)).total_seconds()
        seconds = max(cell.expected_s - elapsed_s, 1.0)
        task = Task(cell.cell.provider, cell.partition, seconds, cell.machine)
        (tasks if cell.state in LIVE else waiting).append(task)
    if not tasks and not waiting:
        return None
    end = now + timedelta(seconds=makespan_s([*tasks, *waiting], campaign.limits))
    return end.isoformat(timespec="seconds")


def doing(cell: CellRow, progress: Progress | None) -> str:
    """What a cell does now, or why it does nothing; `progress` is its run's last progress, None
    before the first."""
    if cell.state not in LIVE:
        return cell.error or ""
    # While a cell is measured, its note says only what it waits for.
    if cell.note or progress is None:
        return cell.note or ""
    step, tick, _ = progress
    if not tick:
        return step
    rate = tick["read_iops"] + tick["write_iops"]
    return f"{step} at {format_duration_s(tick['elapsed_s'])}: {format_iops(rate)} IOPS"


def fleet(database: sa.Engine) -> FleetDocument:
    """All work and leases of all processes that use this database."""
    now = database_time(database)
    executors = {executor.executor_id: executor for executor in list_executors(database)}
    alive = living(list(executors.values()))
    names = {key: one.name or one.hostname for key, one in executors.items() if key in alive}
    unfinished = unfinished_cells(database)
    at_work = [cell for cell in unfinished if cell.state in LIVE and cell.owner is not None]
    runs = [cell for cell in run_cells(database) if cell.trial_id is not None]
    trials = [cell.trial_id for cell in [*at_work, *runs] if cell.trial_id]
    progress = progress_of_trials(database, trials)
    matrices = {campaign.campaign_id: campaign for campaign in list_campaigns(database)}
    busy = Counter(cell.owner for cell in [*at_work, *runs])
    used = leases_at_work(database)
    # What is rented for a trial that shares a machine is in the machine's lease.
    shared = {machine.trial_id for machine in list_machines(database)}
    leases = [
        _lease(database, lease, now, used)
        for lease in list_leases(database, state="open")
        if lease.lease_id not in shared
    ]

    def seen(cell: CellRow) -> CellSeen:
        """A cell of a matrix, or a trial of a run that was started outside a matrix."""
        matrix, trial_id = matrices.get(cell.campaign_id), cell.trial_id or ""
        return CellSeen(
            trial_id=trial_id,
            name=cell.key if matrix else cell.block,
            matrix=matrix.name if matrix else None,
            matrix_id=matrix.campaign_id if matrix else None,
            state=cell.state if cell.owner in alive else "suspended",
            doing=doing(cell, progress.get(trial_id)),
            age_s=_age_s(cell.started_at if matrix else ulid_time(trial_id), now),
            worker=names.get(cell.owner or ""),
        )

    return FleetDocument(
        at=iso(now),
        workers=tuple(
            _worker(executor, now, alive=name in alive, running=busy[name])
            for name, executor in executors.items()
            if name in alive or executor.queues is not None or busy[name]
        ),
        queues=_queues(
            [cell for cell in unfinished if matrices[cell.campaign_id].queue is None],
            [executors[name] for name in sorted(alive)],
        ),
        cells=tuple(map(seen, [*at_work, *runs])),
        leases=tuple(leases),
        usd=sum(lease.usd or 0.0 for lease in leases),
        unpriced=sum(lease.usd is None for lease in leases),
    )


def narrowed(seen: FleetDocument, work: Sequence[OngoingWork]) -> FleetDocument:
    """The part of `seen` that belongs to `work`: its cells and runs, their processes and leases."""
    trials = {item.id for item in work}
    matrices = {item.campaign.campaign_id for item in work if item.campaign and not item.cell}
    cells = tuple(
        cell for cell in seen.cells if cell.trial_id in trials or cell.matrix_id in matrices
    )
    mine = {cell.trial_id for cell in cells} | trials
    leases = tuple(lease for lease in seen.leases if lease.lease_id in mine)
    names = {cell.worker for cell in cells}
    workers = tuple(each for each in seen.workers if each.name in names and each.running)
    return FleetDocument(
        at=seen.at,
        workers=workers,
        queues=(),
        cells=cells,
        leases=leases,
        usd=sum(lease.usd or 0.0 for lease in leases),
        unpriced=sum(lease.usd is None for lease in leases),
    )


def _worker(executor: Executor, now: datetime, *, alive: bool, running: int) -> WorkerSeen:
    return WorkerSeen(
        executor_id=executor.executor_id,
        name=executor.name or executor.hostname,
        hostname=executor.hostname,
        pid=executor.pid,
        version=executor.version,
        queues=None if executor.queues is None else tuple(executor.queues),
        concurrency=executor.concurrency,
        draining=bool(executor.draining),
        started_at=executor.started_at,
        beat_age_s=_age_s(executor.beat_at, now) or 0.0,
        alive=alive,
        running=running,
    )


def _queues(
    for_workers: Sequence[CellRow], living_ones: Sequence[Executor]
) -> tuple[QueueSeen, ...]:
    """The queues of the unfinished cells of matrices that are left to workers: how many wait for
    their turn or for a worker, or run."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for cell in for_workers:
        place = "waiting"
        if cell.state in LIVE:
            place = "queued" if cell.owner is None else "running"
        counts.setdefault((cell.route, cell.partition), Counter())[place] += 1
    return tuple(
        QueueSeen(
            route=route,
            partition=partition,
            waiting=count["waiting"],
            queued=count["queued"],
            running=count["running"],
            workers=sum(serves(executor.queues or (), route) for executor in living_ones),
        )
        for (route, partition), count in sorted(counts.items())
    )


def _lease(database: sa.Engine, lease: Lease, now: datetime, used: set[str]) -> LeaseSeen:
    plan = find_plan(database, lease.lease_id)
    rented = plan is None or plan.rental is not None
    cost = cost_of_lease(lease, now)
    return LeaseSeen(
        **lease.model_dump(include=set(LeaseSeen.model_fields)),
        age_s=cost.hours * 3600,
        usd=cost.usd if rented else 0.0,
        in_use=lease.lease_id in used,
    )


def _age_s(since: str | None, now: datetime) -> float | None:
    if since is None:
        return None
    return max(0.0, (now - datetime.fromisoformat(since)).total_seconds())
