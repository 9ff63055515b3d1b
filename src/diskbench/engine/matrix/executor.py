"""This process as an executor: registration, heartbeat, and which executors are alive."""

from __future__ import annotations

import os
import socket
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from diskbench import __version__
from diskbench.store.cells import live_cells
from diskbench.store.claims import (
    list_executors,
    progress_of_trials,
    register_executor,
    remove_executor,
)
from diskbench.store.database import database_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    import sqlalchemy as sa

    from diskbench.model.campaign import CellRow
    from diskbench.store.claims import Executor

BEAT_S = 15.0
"""Seconds between two heartbeats; our choice."""
DEAD_AFTER_S = 4 * BEAT_S
"""A process on another machine counts as dead after four missed beats; on this machine the kernel
is asked."""

FORGOTTEN_AFTER_S = 86_400.0


def enrol(database: sa.Engine, executor_id: str) -> None:
    """Register this process under `executor_id`; it is alive while its heartbeat continues."""
    register_executor(
        database,
        executor_id,
        hostname=socket.gethostname(),
        pid=os.getpid(),
        process_started=_own_start(),
        version=__version__,
    )


def is_alive(executor: Executor, *, hostname: str, silence: float = DEAD_AFTER_S) -> bool:
    """Whether the process of an executor's row still exists, as far as can be known from here: one
    of another machine is dead after `silence` seconds without a beat, by the database's clock.

    Equal host names do not prove that two machines are the same: clones share a name, and so do
    containers on a host's network. Where boot id and pid namespace are equal, the pid decides.
    """
    if executor.hostname == hostname and _among(executor.process_started) == _among(_own_start()):
        return process_started(executor.pid) == executor.process_started
    return executor.silent_s() < silence


def living(executors: Sequence[Executor], *, silence: float = DEAD_AFTER_S) -> set[str]:
    """The ids of the processes that are alive, as far as can be known from here."""
    hostname = socket.gethostname()
    return {
        executor.executor_id
        for executor in executors
        if is_alive(executor, hostname=hostname, silence=silence)
    }


def trials_at_work(database: sa.Engine) -> set[str]:
    """The ids of the trials that a live process works on, until their cells are settled: also
    between the last run of a trial and its release, and while it is being taken over."""
    alive = living(list_executors(database))
    return {
        cell.trial_id
        for cell in live_cells(database)
        if cell.owner in alive and cell.trial_id is not None
    }


def silent_s(database: sa.Engine, cell: CellRow) -> float:
    """Seconds since the last sign of life of a cell's process: a heartbeat, or progress."""
    now = database_time(database)
    signs = [cell.started_at or cell.queued_at or now.isoformat()]
    signs += [
        executor.beat_at
        for executor in list_executors(database)
        if executor.executor_id == cell.owner
    ]
    signs += [
        progress.updated_at
        for progress in progress_of_trials(database, [cell.trial_id or ""]).values()
    ]
    return max(0.0, (now - datetime.fromisoformat(max(signs))).total_seconds())


def forget_dead(database: sa.Engine) -> None:
    """Remove dead executors that left no unfinished work. A process of another machine may only be
    suspended, and is removed after a day."""
    owners = {cell.owner for cell in live_cells(database)}
    executors = list_executors(database)
    alive = living(executors, silence=FORGOTTEN_AFTER_S)
    for executor in executors:
        if executor.executor_id not in alive | owners:
            remove_executor(database, executor.executor_id)


def process_started(pid: int) -> str | None:
    """When process `pid` of this machine started: the boot's id, the namespace of pids that it is
    counted in, and clock ticks since the boot.

    None when there is no such process (or it is a zombie). From proc(5), field 22 of
    /proc/PID/stat; without /proc a process is known by its existence alone.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        space = Path("/proc/self/ns/pid").stat().st_ino
    except (FileNotFoundError, ProcessLookupError):
        return _exists_without_proc(pid)
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else f"{boot}/{space}/{fields[19]}"


def _among(started: str) -> str:
    """The boot id and pid namespace in a value of `process_started`."""
    return started.rpartition("/")[0]


def _own_start() -> str:
    return process_started(os.getpid()) or ""


def _exists_without_proc(pid: int) -> str | None:
    if Path("/proc/self").exists():
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return "exists"
    return "exists"
