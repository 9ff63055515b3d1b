"""The main loop of a worker: it works until a signal, then leaves at once or drains first."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from diskbench.engine.trial.interrupt import on_signals
from diskbench.errors import Interrupted, StoreUnavailable, Suspended
from diskbench.store.claims import describe_executor

if TYPE_CHECKING:
    from diskbench.engine.matrix.worker import Worker

log = logging.getLogger(__name__)


def serve(worker: Worker, *, drains: bool) -> None:
    """Work until SIGINT or SIGTERM.

    On the first signal a worker that `drains` takes no more cells, and returns when its own have
    ended. The second signal, and the first for a worker that does not drain, suspends its cells and
    raises Suspended: fio continues on the hosts, and other workers continue the cells.
    """

    def handle() -> None:
        if drains and worker.admits:
            worker.admits = False
            worker.wake.set()
            return
        worker.stop.leave()
        worker.wake.set()
        raise _left()

    with on_signals(handle):
        _work(worker)


def _work(worker: Worker) -> None:
    announced = False
    worker.wake.set()
    while True:
        worker.wait()
        # What the signal raised may have been lost: a driver that cleans up raises an error of its
        # own instead (psycopg, in the middle of SQLAlchemy's ping of a connection).
        if worker.stop.leaving:
            raise _left()
        if not worker.admits and not announced:
            announced = True
            _announce_draining(worker)
        if worker.tick() is not None and not worker.admits and not worker.holds_any():
            return


def _left() -> Suspended:
    return Suspended(Interrupted("the worker was asked to end"))


def _announce_draining(worker: Worker) -> None:
    log.info("draining: takes no new cells and ends after its last one")
    try:
        describe_executor(worker.session.database, worker.session.executor_id, draining=True)
    except StoreUnavailable as error:
        log.warning("the database does not answer: %s", error.message)
