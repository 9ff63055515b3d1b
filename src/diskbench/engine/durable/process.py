"""DBOS in this process: launch, take over a dead process's cell, stop; and which trials its threads
work on.

Each process has a fresh executor id and listens to its own queue at most, so that no bystander
ever runs another's trials (docs/design.md#takeover). Only public calls of DBOS are used.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from dbos import DBOS

from diskbench.engine.durable import schedules as clocks
from diskbench.engine.durable.serializer import JsonSerializer
from diskbench.errors import Suspended

if TYPE_CHECKING:
    from collections.abc import Iterator

    import sqlalchemy as sa
    from dbos import WorkflowHandle

APPLICATION_VERSION = "1"
"""Raised by hand when the sequence of checkpoints changes: DBOS continues no workflow of another
version."""
OWN_POLL_S = 0.25
"""Seconds between polls of its own queue, which begin with its first takeover; our choice."""
_RARELY_S = 3600.0
"""Only workers use DBOS's schedules: other processes need not poll them."""
_NOTIFIED_S = 0.1
"""DBOS's notifications are not used; its thread for them sleeps for this time before it notices
that DBOS is stopped."""
BEGINS_WITHIN_S = 30.0
"""Seconds within which DBOS runs what it was given, in a thread of this process; our choice."""
_DBOS_HANDLER = "__dbos_console_log_handler__"
_DBOS_THREADS = "dbos-executor-"
suspensions: dict[str, Suspended] = {}
"""Why this process suspended a trial, by its id. Its workflow in the database is unchanged."""
_threads: Counter[str] = Counter()
"""How many threads of this process work on each trial."""
_given: dict[str, float] = {}
"""When DBOS was given each trial to run here, by the monotonic clock."""
_changed = threading.Condition()
_registering = threading.Lock()
_LEAVES_WITHIN_S = 5.0
"""How long the end of a process waits for its workflows to be suspended; a step that follows fio
notices within a second. Our choice."""


def own_queue(executor_id: str) -> str:
    """The only queue that the process `executor_id` takes work from."""
    return f"exec-{executor_id}"


def launch(engine: sa.Engine, executor_id: str, *, schedules: bool = False) -> None:
    """Start DBOS on our own database engine, after cells.bind. `schedules` listens to those, too
    (engine/durable/schedules.py)."""
    DBOS(
        config={
            "name": clocks.APPLICATION,
            "system_database_url": engine.url.render_as_string(hide_password=False),
            "system_database_engine": engine,
            "executor_id": executor_id,
            "application_version": APPLICATION_VERSION,
            "serializer": JsonSerializer(),
            "use_listen_notify": False,
            "notification_listener_polling_interval_sec": _NOTIFIED_S,
            "scheduler_polling_interval_sec": clocks.POLL_S if schedules else _RARELY_S,
            "log_level": "CRITICAL",
        }
    )
    DBOS.listen_queues([own_queue(executor_id), *([clocks.QUEUE] if schedules else [])])
    DBOS.launch()
    if schedules:
        clocks.listen()


def stop(within_s: float = _LEAVES_WITHIN_S) -> bool:
    """Stop DBOS, after waiting at most `within_s` seconds for workflows that are being suspended.
    Returns whether none runs any more. DBOS can be launched again in the same process."""
    idle = none_at_work(within_s)
    with contextlib.suppress(Exception):
        DBOS.destroy()
    if none_at_work(0):
        _join_threads()
    _given.clear()
    logger = logging.getLogger("dbos")
    for handler in logger.handlers[:]:
        if handler.name == _DBOS_HANDLER:  # it keeps the standard error of this launch
            logger.removeHandler(handler)
    return idle


def _join_threads() -> None:
    """Wait a moment for the threads in which DBOS ran workflows: `destroy` tells them to end and
    does not wait."""
    end = time.monotonic() + _LEAVES_WITHIN_S
    for thread in threading.enumerate():
        if thread.name.startswith(_DBOS_THREADS) and thread is not threading.current_thread():
            thread.join(max(0.0, end - time.monotonic()))


def move_here(trial_id: str, executor_id: str) -> WorkflowHandle[Any]:
    """Continue in this process a cell that no other process runs; the caller has won its row."""
    queue = own_queue(executor_id)
    with giving(trial_id), _registering:
        # Registered at the first takeover only: DBOS keeps a row for each queue, and polls it.
        if DBOS.retrieve_queue(queue) is None:
            DBOS.register_queue(queue, polling_interval_sec=OWN_POLL_S)
        return DBOS.resume_workflow(trial_id, queue_name=queue)


@contextlib.contextmanager
def giving(trial_id: str) -> Iterator[None]:
    """Inside the block DBOS is given a trial to run here; it is not given it again for a while."""
    _given[trial_id] = time.monotonic()
    try:
        yield
    except BaseException:
        _given.pop(trial_id, None)
        raise


@contextlib.contextmanager
def working_on(trial_id: str) -> Iterator[None]:
    """Inside the block, count this thread as working on a trial, and keep why it was suspended."""
    with _changed:
        _threads[trial_id] += 1
        _given.pop(trial_id, None)
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
    """Whether a thread of this process works on a trial, or will in a moment.

    DBOS ends a thread silently when it cannot write the thread's outcome, and may lose what it took
    from a queue while the database went away: such a trial is given to it again."""
    with _changed:
        given = _given.get(trial_id)
        is_new = given is not None and time.monotonic() - given < BEGINS_WITHIN_S
        return trial_id in _threads or is_new


def none_at_work(within_s: float) -> bool:
    """Wait at most `within_s` seconds until no thread works on any trial; returns whether that is
    so."""
    with _changed:
        return _changed.wait_for(lambda: not _threads, within_s)
