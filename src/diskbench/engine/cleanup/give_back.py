"""Giving back what expired, by whoever opens the database next.

A run that was killed gives nothing back, and nobody may ever resume it. So each command that opens
the database looks once for leases that expired; a worker looks twice a minute by itself.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from diskbench.engine.cleanup.gc import expires_at, sweep
from diskbench.errors import DiskbenchError
from diskbench.store.clock import database_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.engine.session import Session
    from diskbench.model.swept import Swept
    from diskbench.store.leases import Lease

log = logging.getLogger(__name__)


def give_back_expired(
    opened: Callable[[], Session], swept: Callable[[list[Swept]], None]
) -> Callable[[], None]:
    """Begin to give back what expired, in a thread with a session of its own; gives what waits for
    it. `swept` is told what became of it; what goes wrong besides is logged."""
    thread = threading.Thread(target=_give_back, args=(opened, swept), daemon=True)
    thread.start()
    return thread.join


def _give_back(opened: Callable[[], Session], swept: Callable[[list[Swept]], None]) -> None:
    try:
        session = opened()
    except DiskbenchError as error:
        log.warning("leases that expired are not given back: %s", error.message)
        return
    now = database_time(session.database).timestamp()

    def is_expired(lease: Lease) -> bool:
        """One that could not be given back before is left to `gc`, workers and `resume`: commands
        that only read must not wait for the same cloud each time."""
        return lease.error is None and (expires_at(lease) or now) < now

    try:
        results = sweep(session, [], dry_run=False, reaches=is_expired)
        swept([result for result in results if result.outcome != "kept"])
    except DiskbenchError as error:
        log.warning("leases that expired are not given back: %s", error.message)
    finally:
        session.close()
