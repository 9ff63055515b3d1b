"""Notes on what a host does before and after fio, for stages that take long."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

TOLD_AFTER_S = 3.0
"""Seconds after which a stage gets a note; our choice."""
_WORDS = {
    "start": "the step is being started on the host",
    "check": "the host checks the disk again",
    "sync": "the host writes out older data (sync); fio starts after that",
    "cache-drop": "the host drops its page cache; fio starts after that",
    "canary": "the canary runs: a short checksum, and fio without a disk",
    "end": "the host ends the step",
}
"""By the stage names in scripts/step.sh and scripts/stages.sh; other stages get no note."""


@dataclass
class Stages:
    """Gives one note for each stage of a step that takes long."""

    note: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _name: str = ""
    _since: float = 0.0
    """When the stage `_name` was first reported."""

    def at(self, name: str) -> None:
        """Record that the host reported to be in the stage `name`."""
        now = self.clock()
        if name != self._name:
            self._name, self._since = name, now
        elif name in _WORDS and now - self._since >= TOLD_AFTER_S:
            self.note(_WORDS[name])
            self._since = float("inf")
