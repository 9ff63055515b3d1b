"""Cells of this process whose workflow is running according to the database, but in no thread.

The workflow engine ends a thread silently when its outcome cannot be written, and parks a thread
that it takes for a second run of the same workflow. No other process takes over such a cell,
because this process is alive.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

NOTICED_AFTER_S = 30.0
"""Seconds that a workflow may take between the queue and its thread, or between its thread and the
database; our choice."""
MOST = 3
"""How many times a workflow is restarted before its cell counts as broken; our choice."""


@dataclass
class StuckCells:
    """The trials that no thread works on, with the time since when and the number of restarts."""

    clock: Callable[[], float] = time.monotonic
    _since: dict[str, float] = field(default_factory=dict)
    _times: Counter[str] = field(default_factory=Counter)

    def look(self, trial_id: str, *, at_work: bool) -> Literal["here", "again", "broken"]:
        """What to do with a cell of this process: nothing ("here"), restart its workflow ("again"),
        or settle it as broken ("broken")."""
        if at_work:
            self._since.pop(trial_id, None)
            return "here"
        since = self._since.setdefault(trial_id, self.clock())
        if self.clock() - since < NOTICED_AFTER_S:
            return "here"
        del self._since[trial_id]
        self._times[trial_id] += 1
        return "again" if self._times[trial_id] <= MOST else "broken"
