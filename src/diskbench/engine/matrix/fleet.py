"""The workers, their work, the queues and the open leases, read from the database."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING

from diskbench.engine.cleanup.gc import cost_of_lease, leases_at_work
from diskbench.engine.matrix.executor import living
from diskbench.engine.matrix.matrix_status import doing
from diskbench.model.campaign import CellSeen, FleetDocument, LeaseSeen, QueueSeen, WorkerSeen
from diskbench.plan.admit import serves
from diskbench.store.campaigns import list_campaigns
from diskbench.store.cells import owned_cells, run_cells
from diskbench.store.claims import list_executors, progress_of_trials
from diskbench.store.clock import ulid_time
from diskbench.store.database import database_time
from diskbench.store.leases import list_leases, list_machines
from diskbench.store.matrix_sums import count_queues
from diskbench.store.moments import iso
from diskbench.store.rows import find_plan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import sqlalchemy as sa

    from diskbench.engine.work import OngoingWork
    from diskbench.model.campaign import CellRow
    from diskbench.store.claims import Executor, SavedProgress
    from diskbench.store.leases import Lease
    from diskbench.store.matrix_sums import QueueCount


def fleet(database: sa.Engine) -> FleetDocument:
    """All work and leases of all processes that use this database."""
    now = database_time(database)
    executors = {executor.executor_id: executor for executor in list_executors(database)}
    alive = living(list(executors.values()))
    names = {executor_id: _name(executors[executor_id]) for executor_id in alive}
    at_work = owned_cells(database)
    runs = [cell for cell in run_cells(database) if cell.trial_id is not None]
    progress = progress_of_trials(
        database,
        [cell.trial_id for cell in [*at_work, *runs] if cell.trial_id],
    )
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
    return FleetDocument(
        at=iso(now),
        workers=tuple(
            _worker(
                executor,
                now,
                alive=executor.executor_id in alive,
                running=busy[executor.executor_id],
            )
            for executor in executors.values()
            if executor.executor_id in alive
            or executor.queues is not None
            or busy[executor.executor_id]
        ),
        queues=_queues(
            count_queues(database), [executors[executor_id] for executor_id in sorted(alive)]
        ),
        cells=tuple(
            CellSeen(
                trial_id=cell.trial_id or "",
                name=cell.key,
                matrix=matrices[cell.campaign_id].name,
                matrix_id=cell.campaign_id,
                state=cell.state if cell.owner in alive else "suspended",
                doing=doing(cell, progress.get(cell.trial_id or "")),
                age_s=_age_s(cell.started_at, now),
                worker=names.get(cell.owner or ""),
            )
            for cell in at_work
        )
        + tuple(_run(run, now, names, progress.get(run.trial_id or "")) for run in runs),
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
    return seen.model_copy(
        update={
            "workers": tuple(
                worker for worker in seen.workers if worker.name in names and worker.running
            ),
            "queues": (),
            "cells": cells,
            "leases": leases,
            "usd": sum(lease.usd or 0.0 for lease in leases),
            "unpriced": sum(lease.usd is None for lease in leases),
        }
    )


def _name(executor: Executor) -> str:
    return executor.name or executor.hostname


def _worker(executor: Executor, now: datetime, *, alive: bool, running: int) -> WorkerSeen:
    return WorkerSeen(
        executor_id=executor.executor_id,
        name=_name(executor),
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
    counted: Sequence[QueueCount], living_ones: Sequence[Executor]
) -> tuple[QueueSeen, ...]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for some in counted:
        counts.setdefault((some.route, some.partition), Counter())[some.place] += some.count
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


def _run(
    cell: CellRow, now: datetime, names: Mapping[str, str], progress: SavedProgress | None
) -> CellSeen:
    """A trial of a run that was started outside a matrix."""
    trial_id = cell.trial_id or ""
    return CellSeen(
        trial_id=trial_id,
        name=cell.block,
        state=cell.state if cell.owner in names else "suspended",
        doing=doing(cell, progress),
        age_s=_age_s(ulid_time(trial_id), now),
        worker=names.get(cell.owner or ""),
    )


def _lease(database: sa.Engine, lease: Lease, now: datetime, used: set[str]) -> LeaseSeen:
    plan = find_plan(database, lease.lease_id)
    rented = plan is None or plan.rental is not None
    cost = cost_of_lease(lease, now)
    return LeaseSeen(
        lease_id=lease.lease_id,
        provider=lease.provider,
        region=lease.region,
        created_at=lease.created_at,
        expires_at=lease.expires_at,
        age_s=cost.hours * 3600,
        usd=cost.usd if rented else 0.0,
        in_use=lease.lease_id in used,
        error=lease.error,
    )


def _age_s(since: str | None, now: datetime) -> float | None:
    if since is None:
        return None
    return max(0.0, (now - datetime.fromisoformat(since)).total_seconds())
