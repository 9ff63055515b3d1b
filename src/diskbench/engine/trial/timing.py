"""Where the time of a run goes: named spans, summed, printed by `--timing` and kept by trial."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Timing:
    """Sums of wall seconds by name, in the order of first use; any thread may add.

    What is added for one trial is its own; what is added for none is shared by all of a process.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds: dict[str | None, dict[str, float]] = {}

    @contextmanager
    def span(self, name: str, trial_id: str | None = None) -> Iterator[None]:
        """Add the time spent inside to `name`; spans of several threads add up."""
        self.add(name, 0.0, trial_id)  # so that what it contains comes after it
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
        """The sums so far, over all trials and what they share."""
        with self._lock:
            found: dict[str, float] = {}
            for sums in self._seconds.values():
                for name, seconds in sums.items():
                    found[name] = found.get(name, 0.0) + seconds
            return found

    def of(self, trial_id: str) -> dict[str, float]:
        """The sums so far of one trial alone."""
        with self._lock:
            return dict(self._seconds.get(trial_id, {}))
