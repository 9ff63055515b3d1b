"""Release of expired leases by the next command that opens the database.

A run that was killed releases nothing, and may never be resumed. Therefore each command that opens
the database checks once for expired leases; a worker checks twice a minute.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from diskbench.engine.cleanup.gc import expires_at, sweep
from diskbench.errors import DiskbenchError
from diskbench.store.database import database_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.engine.session import Session
    from diskbench.model.outcome import Swept
    from diskbench.store.leases import Lease

log = logging.getLogger(__name__)


def give_back_expired(
    opened: Callable[[], Session], swept: Callable[[list[Swept]], None]
) -> Callable[[], None]:
    """Release expired leases in a thread with its own session; returns a function that waits for
    the thread. `swept` gets the results; other errors are logged."""
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
        """Whether a lease expired and was not tried before. One that could not be released is left
        to `gc`, workers and `resume`, so that commands that only read need not wait for the same
        cloud each time."""
        return lease.error is None and (expires_at(lease) or now) < now

    try:
        results = sweep(session, [], dry_run=False, reaches=is_expired)
        swept([result for result in results if result.outcome != "kept"])
    except DiskbenchError as error:
        log.warning("leases that expired are not given back: %s", error.message)
    finally:
        session.close()
