"""Cells of this process whose workflow stands in the database as running, and runs nowhere.

The workflow engine ends a thread without a word when its outcome cannot be written, and parks one
that it takes for a second run of the same. Nobody else takes such a cell over: its process lives.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

NOTICED_AFTER_S = 30.0
"""How long a workflow may be between the queue and its thread, or its thread and the database; our
choice."""
MOST = 3
"""How often one is taken up again before its cell counts as broken; our choice."""


@dataclass
class Vanished:
    """What was not seen at work, and since when."""

    clock: Callable[[], float] = time.monotonic
    _since: dict[str, float] = field(default_factory=dict)
    _times: Counter[str] = field(default_factory=Counter)

    def look(self, trial_id: str, *, at_work: bool) -> Literal["here", "again", "broken"]:
        """What to do with a cell that should be at work in this process: nothing, take it up
        again, or give it up."""
        if at_work:
            self._since.pop(trial_id, None)
            return "here"
        since = self._since.setdefault(trial_id, self.clock())
        if self.clock() - since < NOTICED_AFTER_S:
            return "here"
        del self._since[trial_id]
        self._times[trial_id] += 1
        return "again" if self._times[trial_id] <= MOST else "broken"
