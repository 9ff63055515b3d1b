"""DBOS in this process: launch, rest, take over a dead process's cell, stop; and which trials its
threads work on.

Each process has a fresh executor id and listens to its own queue at most, so that no bystander
ever runs another's trials (docs/design.md#takeover). Only public calls of DBOS are used.

DBOS asks the database about eighteen times a second whether an internal queue, the list of queues
and a clean-up have work, and has no setting for it. So a worker without cells stops DBOS (`rest`).
The first call that needs DBOS launches it again, which takes 25 ms.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbos import DBOS

from diskbench.engine.durable import schedules as clocks
from diskbench.engine.durable.serializer import JsonSerializer
from diskbench.errors import Suspended
from diskbench.store.database_errors import as_unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    import sqlalchemy as sa
    from dbos import WorkflowHandle

APPLICATION_VERSION = "2"
"""Raised by hand when the sequence of checkpoints changes; cells of another version begin anew."""
_RARELY_S = 3600.0
"""Only workers use DBOS's schedules: other processes need not poll them."""
_NOTIFIED_S, _NOTIFIED_WORKER_S = 0.02, 0.5
"""DBOS's notifications are not used; its thread for them sleeps for this time before it notices
that DBOS is stopped. A command ends soon; a worker would wake fifty times a second for nothing."""
_DBOS_HANDLER = "__dbos_console_log_handler__"
_DBOS_THREADS = "dbos-executor-"
RESTS_AFTER_S = 10.0
"""Seconds without use after which DBOS may stop. To launch it again costs as many statements as two
seconds of its polls; our choice."""
suspensions: dict[str, Suspended] = {}
"""Why this process suspended a trial, by its id. Its workflow in the database is unchanged."""
_threads: Counter[str] = Counter()
"""How many threads of this process work on each trial."""
_changed = threading.Condition()
_LEAVES_WITHIN_S = 5.0
"""How long the end of a process waits for its workflows to be suspended; a step that follows fio
notices within a second. Our choice."""


def own_queue(executor_id: str) -> str:
    """The only queue that the process `executor_id` takes work from."""
    return f"exec-{executor_id}"


@dataclass(frozen=True)
class _Launch:
    """How DBOS is launched in this process, each time."""

    engine: sa.Engine
    executor_id: str
    own_poll_s: float | None
    schedules: bool


_launched: _Launch | None = None
_is_awake = False
_used_at = 0.0


def launch(
    engine: sa.Engine,
    executor_id: str,
    *,
    own_poll_s: float | None = None,
    schedules: bool = False,
) -> None:
    """Start DBOS on our own database engine, after cells.bind. With `own_poll_s` this process may
    take over cells: from its first takeover on it polls its own queue at this interval (a new cell
    needs no queue). `schedules` listens to those, too (engine/durable/schedules.py)."""
    global _launched
    _launched = _Launch(engine, executor_id, own_poll_s, schedules)
    _begin(_launched)


def wake() -> None:
    """Launch DBOS again if it rests; called before each use of it. Raises StoreUnavailable."""
    global _used_at
    _used_at = time.monotonic()
    if _launched is None or _is_awake:
        return
    try:
        with as_unavailable(_launched.engine):
            _begin(_launched)
    except BaseException:
        _end()  # a half launched DBOS could not be launched again
        raise


def rest() -> bool:
    """Stop DBOS until the next `wake`, unless it was used within RESTS_AFTER_S or has a workflow of
    this process that is not over. Returns whether it rests.

    Only the thread that starts this process's cells may call it. Raises StoreUnavailable."""
    global _used_at
    if _launched is None or not _is_awake:
        return True
    if time.monotonic() - _used_at < RESTS_AFTER_S or not none_at_work(0):
        return False
    with as_unavailable(_launched.engine):
        # DBOS would recover these at the next launch, as those of a process that died.
        unfinished = DBOS.list_workflows(
            executor_id=_launched.executor_id,
            status="PENDING",
            limit=1,
            load_input=False,
            load_output=False,
        )
    if unfinished:
        _used_at = time.monotonic()
        return False
    _end()
    return True


def _begin(settings: _Launch) -> None:
    global _is_awake, _used_at
    DBOS(
        config={
            "name": clocks.APPLICATION,
            "system_database_url": settings.engine.url.render_as_string(hide_password=False),
            "system_database_engine": settings.engine,
            "executor_id": settings.executor_id,
            "application_version": APPLICATION_VERSION,
            "serializer": JsonSerializer(),
            "use_listen_notify": False,
            "notification_listener_polling_interval_sec": (
                _NOTIFIED_WORKER_S if settings.schedules else _NOTIFIED_S
            ),
            "scheduler_polling_interval_sec": clocks.POLL_S if settings.schedules else _RARELY_S,
            "log_level": "CRITICAL",
        }
    )
    own = [own_queue(settings.executor_id)] if settings.own_poll_s is not None else []
    DBOS.listen_queues([*own, *([clocks.QUEUE] if settings.schedules else [])])
    DBOS.launch()
    if settings.schedules:
        clocks.listen()
    _is_awake, _used_at = True, time.monotonic()


def _end() -> None:
    global _is_awake
    _is_awake = False
    with contextlib.suppress(Exception):
        DBOS.destroy()
    if none_at_work(0):
        _join_threads()
    logger = logging.getLogger("dbos")
    for handler in logger.handlers[:]:
        if handler.name == _DBOS_HANDLER:  # it keeps the standard error of this launch
            logger.removeHandler(handler)


def _join_threads() -> None:
    """Wait a moment for the threads in which DBOS ran workflows: `destroy` tells them to end and
    does not wait."""
    end = time.monotonic() + _LEAVES_WITHIN_S
    for thread in threading.enumerate():
        if thread.name.startswith(_DBOS_THREADS) and thread is not threading.current_thread():
            thread.join(max(0.0, end - time.monotonic()))


def move_here(trial_id: str, executor_id: str) -> WorkflowHandle[Any]:
    """Continue in this process a cell whose process is dead; the caller has won its row.

    DBOS runs no workflow of another version, whose checkpoints are others. It is replaced by a new
    one, whose stations find what was made: steps that ended are fetched again, none is repeated."""
    wake()
    if _is_of_another_version(trial_id):
        from diskbench.engine.durable import cells  # it imports this module

        DBOS.delete_workflow(trial_id)
        cells.start(trial_id)
        return DBOS.retrieve_workflow(trial_id)
    queue = own_queue(executor_id)
    # Registered at the first takeover only: DBOS reads the queue's row, its version and its work at
    # each poll, which was a third of all statements of a worker that takes over nothing.
    poll_s = _launched.own_poll_s if _launched is not None else None
    if poll_s is not None and DBOS.retrieve_queue(queue) is None:
        DBOS.register_queue(queue, polling_interval_sec=poll_s)
    return DBOS.resume_workflow(trial_id, queue_name=queue)


def _is_of_another_version(trial_id: str) -> bool:
    workflows = DBOS.list_workflows(workflow_ids=[trial_id], load_input=False, load_output=False)
    return any(workflow.app_version != APPLICATION_VERSION for workflow in workflows)


def stop(within_s: float = _LEAVES_WITHIN_S) -> bool:
    """Stop DBOS, after waiting at most `within_s` seconds for workflows that are being suspended.
    Returns whether none runs any more. DBOS can be launched again in the same process."""
    global _launched
    idle = none_at_work(within_s)
    _launched = None
    _end()
    return idle


@contextlib.contextmanager
def working_on(trial_id: str) -> Iterator[None]:
    """Inside the block, count this thread as working on a trial, and keep why it was suspended."""
    with _changed:
        _threads[trial_id] += 1
    try:
        yield
    except Suspended as suspended:
        suspensions[trial_id] = suspended
        raise
    finally:
        with _changed:
            _threads[trial_id] -= 1
            if not _threads[trial_id]:
                del _threads[trial_id]
            _changed.notify_all()


def at_work(trial_id: str) -> bool:
    """Whether a thread of this process works on a trial."""
    with _changed:
        return trial_id in _threads


def none_at_work(within_s: float) -> bool:
    """Wait at most `within_s` seconds until no thread works on any trial; returns whether that is
    so."""
    with _changed:
        return _changed.wait_for(lambda: not _threads, within_s)
