"""DBOS in this process: launch, start a trial, take over a dead process's trial, wait.

Each process has a fresh executor id and listens to its own queue at most, so that no bystander
ever runs another's trials (docs/design.md#takeover). Only public calls of DBOS are used.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from typing import TYPE_CHECKING, Any

from dbos import DBOS, SetWorkflowID

from diskbench.engine.durable import schedules as clocks
from diskbench.engine.durable.at_work import none_at_work
from diskbench.engine.durable.serializer import JsonSerializer
from diskbench.engine.durable.workflow import (
    APPLICATION,
    APPLICATION_VERSION,
    bind,
    suspensions,
    trial,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import sqlalchemy as sa

    from diskbench.engine.trial.order import Stations
    from diskbench.model.spec import Plan

_RARELY_S = 3600.0
"""Only workers use DBOS's schedules: other processes need not poll them."""
_NOTIFIED_S = 0.05
"""DBOS's notifications are not used; its thread for them sleeps for this time before it notices
that DBOS is stopped."""
_DBOS_HANDLER = "__dbos_console_log_handler__"
_TAKEOVER_POLL_S = 0.1
_LEAVES_WITHIN_S = 5.0
"""How long the end of a process waits for its workflows to be suspended; a step that follows fio
notices within a second. Our choice."""


def own_queue(executor_id: str) -> str:
    """The only queue that the process `executor_id` takes work from."""
    return f"exec-{executor_id}"


def launch(
    engine: sa.Engine,
    executor_id: str,
    stations: Stations,
    load_plan: Callable[[str], Plan],
    *,
    takes_over: bool = False,
    own_poll_s: float = _TAKEOVER_POLL_S,
    listens: Sequence[str] = (),
    schedules: bool = False,
) -> None:
    """Start DBOS on our own database engine. `takes_over` listens to this process's own queue,
    `listens` names further ones, which may be registered later; `schedules` listens to those, too
    (engine/durable/schedules.py)."""
    bind(stations, load_plan)
    DBOS(
        config={
            "name": APPLICATION,
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
    own = [own_queue(executor_id)] if takes_over else []
    DBOS.listen_queues([*own, *listens, *([clocks.QUEUE] if schedules else [])])
    DBOS.launch()
    if schedules:
        clocks.listen()
    if takes_over:
        DBOS.register_queue(own_queue(executor_id), polling_interval_sec=own_poll_s)


def register(
    queue: str,
    *,
    per_partition: int,
    per_minute: int | None = None,
    poll_s: float = 1.0,
) -> None:
    """Register a queue of cells, with the number of cells of a partition that run at the same time
    and that may begin in a minute. A later call overrides an earlier one."""
    DBOS.register_queue(
        queue,
        partition_concurrency=per_partition,
        partition_limiter={"limit": per_minute, "period": 60.0} if per_minute else None,
        polling_interval_sec=poll_s,
        on_conflict="always_update",
    )


def start(trial_id: str) -> Callable[[], dict[str, Any]]:
    """Start a trial in this process, once; returns a function that waits for its end."""
    with SetWorkflowID(trial_id):
        handle = DBOS.start_workflow(trial, trial_id)
    return handle.get_result


def take_over(trial_id: str, executor_id: str) -> Callable[[], dict[str, Any]]:
    """Continue a trial whose process is dead; the caller has won its row (compare-and-swap).
    Returns a function that waits for the trial's end."""
    if DBOS.get_workflow_status(trial_id) is None:
        return start(trial_id)  # killed between its row and its workflow: nothing ran yet
    suspensions.pop(trial_id, None)
    handle = DBOS.resume_workflow(trial_id, queue_name=own_queue(executor_id))

    def wait() -> dict[str, Any]:
        pause = threading.Event()
        while handle.get_status().status in ("PENDING", "ENQUEUED"):
            if trial_id in suspensions:
                raise suspensions[trial_id]
            pause.wait(_TAKEOVER_POLL_S)
        end: dict[str, Any] = handle.get_result(polling_interval_sec=_TAKEOVER_POLL_S)
        return end

    return wait


def move_here(trial_id: str, executor_id: str) -> None:
    """Continue in this process a cell whose process is dead; the caller has won its row."""
    DBOS.resume_workflow(trial_id, queue_name=own_queue(executor_id))


def stop(within_s: float = _LEAVES_WITHIN_S) -> bool:
    """Stop DBOS, after waiting at most `within_s` seconds for workflows that are being suspended.
    Returns whether none runs any more. DBOS can be launched again in the same process."""
    idle = none_at_work(within_s)
    with contextlib.suppress(Exception):
        DBOS.destroy()
    logger = logging.getLogger("dbos")
    for handler in logger.handlers[:]:
        if handler.name == _DBOS_HANDLER:  # it keeps the standard error of this launch
            logger.removeHandler(handler)
    return idle
