"""Processes that share a database: registration and heartbeat, which of them are alive, whether
they have one secret and one clock; and new ids."""

import hmac
import logging
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa
from pydantic import SecretBytes
from ulid import ULID

from diskbench import __version__
from diskbench.errors import InvalidValue
from diskbench.model.campaign import CellRow
from diskbench.store.campaigns import live_cells, run_cells
from diskbench.store.database import database_time, is_skewed, skew_text, time_and_skew
from diskbench.store.executors import Executor, list_executors, register_executor, remove_executor
from diskbench.store.rows import progress_of_trials, unfinished_runs

BEAT_S = 15.0
"""Seconds between two heartbeats; our choice."""
DEAD_AFTER_S = 4 * BEAT_S
"""A process on another machine counts as dead after four missed beats; on this machine the kernel
is asked."""

FORGOTTEN_AFTER_S = 86_400.0
log = logging.getLogger(__name__)


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
    # Boot id and pid namespace stand before the start.
    here, there = (text.rpartition("/")[0] for text in (_own_start(), executor.process_started))
    if (executor.hostname, there) == (hostname, here):
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


def is_abandoned(database: sa.Engine, trial_id: str) -> bool:
    """Whether `diskbench resume` would continue the trial: it is unfinished, outside a matrix, and
    its process is gone."""
    abandoned = (cell.trial_id for cell in abandoned_cells(database))
    return bool(unfinished_runs(database, trial_id)) and trial_id in abandoned


def abandoned_cells(database: sa.Engine) -> list[CellRow]:
    """The unfinished cells of runs whose process is gone."""
    cells = run_cells(database)
    alive = living(list_executors(database)) if cells else set()
    return [cell for cell in cells if cell.owner not in alive]


def silent_s(database: sa.Engine, cell: CellRow) -> float:
    """Seconds since the last sign of life of a cell's process: a heartbeat, or progress."""
    now = database_time(database)
    executors = list_executors(database)
    progress = progress_of_trials(database, [cell.trial_id or ""])
    signs = [
        cell.started_at or cell.queued_at or now.isoformat(),
        *(each.beat_at for each in executors if each.executor_id == cell.owner),
        *(written_at for *_, written_at in progress.values()),
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
        if Path("/proc/self").exists():
            return None
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return None
        except PermissionError:
            return "exists"
        return "exists"
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else f"{boot}/{space}/{fields[19]}"


def _own_start() -> str:
    return process_started(os.getpid()) or ""


def fingerprint(secret: SecretBytes) -> str:
    """64 bits of an HMAC-SHA256 in hexadecimal: distinguishes secrets without revealing them."""
    return hmac.digest(secret.get_secret_value(), b"diskbench secret v1", "sha256")[:8].hex()


def check_shared(database: sa.Engine, own: str) -> None:
    """Raise InvalidValue where the secret of a live worker has another fingerprint than `own`,
    because neither worker could log in to the machines of the other."""
    executors = list_executors(database)
    alive = living(executors)
    for peer in executors:
        if peer.executor_id in alive and peer.secret_id not in (None, own):
            raise InvalidValue(
                f"this worker's secret differs from that of worker {peer.name} on {peer.hostname}",
                advice="give all workers of a database the same DISKBENCH_SECRET, or the same file "
                "(see secret_file in 'diskbench config')",
            )


@dataclass
class DatabaseClock:
    """Read repeatedly by one thread."""

    database: sa.Engine
    is_skewed: bool = field(default=False, init=False)
    """Whether this machine's clock differed by over a minute from the database's at the last look.
    """
    _seen: tuple[datetime, float] | None = field(default=None, init=False)

    def looked(self) -> float:
        """Read the clock. Returns the seconds by which it advanced more than this machine's
        monotonic clock since the last look; after such a jump every heartbeat looks old. Logs when
        the skew of this machine's clock begins or ends. Raises StoreUnavailable."""
        present, skew = time_and_skew(self.database)
        at = time.monotonic()
        if is_skewed(skew) != self.is_skewed:
            self.is_skewed = not self.is_skewed
            if self.is_skewed:
                log.warning("takes over no cells of other workers: %s", skew_text(skew))
            else:
                log.info("the clock agrees with the database's again")
        before, self._seen = self._seen, (present, at)
        if before is None:
            return 0.0
        return (present - before[0]).total_seconds() - (at - before[1])

    def age_s(self, since: str | None) -> float:
        """Seconds from `since`, a time in a row, to the last look; 0 where either is missing."""
        if since is None or self._seen is None:
            return 0.0
        return (self._seen[0] - datetime.fromisoformat(since)).total_seconds()


def new_id() -> str:
    """A lower-case ULID: sorts by time, fits every cloud's naming rules."""
    return str(ULID()).lower()
