"""Timings of a run: sums of named spans, printed by `--timing` and stored by trial."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Timing:
    """Sums of wall seconds by name, in the order of first use; any thread may add.

    Time without a trial id is shared by all trials of the process.
    """

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _seconds: dict[str | None, dict[str, float]] = field(default_factory=dict)

    @contextmanager
    def span(self, name: str, trial_id: str | None = None) -> Iterator[None]:
        """Add the time spent inside to `name`; spans of several threads add up."""
        self.add(name, 0.0, trial_id)  # so that nested spans are listed after it
        start = time.monotonic()
        try:
            yield
        finally:
            self.add(name, time.monotonic() - start, trial_id)

    def add(self, name: str, seconds: float, trial_id: str | None = None) -> None:
        """Add `seconds` to `name`."""
        with self._lock:
            sums = self._seconds.setdefault(trial_id, {})
            sums[name] = sums.get(name, 0.0) + seconds

    def seconds(self) -> dict[str, float]:
        """The sums so far, over all trials and shared time, in seconds."""
        with self._lock:
            totals: dict[str, float] = {}
            for sums in self._seconds.values():
                for name, seconds in sums.items():
                    totals[name] = totals.get(name, 0.0) + seconds
            return totals

    def of(self, trial_id: str) -> dict[str, float]:
        """The sums so far of one trial without shared time, in seconds."""
        with self._lock:
            return dict(self._seconds.get(trial_id, {}))
