"""The database's clock as seen by a worker: the worker's skew, and jumps of either clock."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from diskbench.store.database import is_skewed, skew_text, time_and_skew

if TYPE_CHECKING:
    import sqlalchemy as sa

log = logging.getLogger(__name__)


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
