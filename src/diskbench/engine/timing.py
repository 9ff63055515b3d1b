"""Where the time of a run goes: named spans, summed, printed by `--timing`."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Timing:
    """Sums of wall seconds by name, in the order of first use; any thread may add."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds: dict[str, float] = {}

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Add the time spent inside to `name`; spans of several threads add up."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.add(name, time.monotonic() - start)

    def add(self, name: str, seconds: float) -> None:
        """Add `seconds` to `name`."""
        with self._lock:
            self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    def seconds(self) -> dict[str, float]:
        """The sums so far."""
        with self._lock:
            return dict(self._seconds)
