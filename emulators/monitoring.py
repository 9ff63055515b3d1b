"""What an emulated cloud counts by itself of its disks, second by second, as its monitoring would.

Kept after a disk is gone, as clouds keep it. A second is at a limit when the disk did nearly what
the limit allows: the lab's throttle lets nothing more through, and does not tell who waited.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from emulators import guests

_NEAR = 0.9


@dataclass(frozen=True)
class Second:
    """What a disk did in one second, and whether it was held at its IOPS or its bytes."""

    read_ops: int
    write_ops: int
    read_bytes: int
    write_bytes: int
    at_iops: bool
    at_bytes: bool


@dataclass
class Monitoring:
    """Seconds of each volume, by the Unix time at which they began."""

    seconds: dict[str, dict[int, Second]] = field(default_factory=dict)
    _last: dict[str, tuple[float, guests.Counted]] = field(default_factory=dict)

    def look(self, machines: Iterable[str]) -> None:
        """Count what the disks of these machines did since the last look."""
        for machine in machines:
            for volume, now in guests.counted(machine).items():
                at = time.time()
                before = self._last.get(volume)
                self._last[volume] = at, now
                if before is not None and at > before[0]:
                    seconds = self.seconds.setdefault(volume, {})
                    seconds[int(before[0])] = _second(before[1], now, at - before[0])

    def clear(self) -> None:
        """Nothing was counted."""
        self.seconds.clear()
        self._last.clear()

    @contextmanager
    def going_on(self, machines: Callable[[], Iterable[str]]) -> Iterator[None]:
        """Look each second until the block ends."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(1.0):
                self.look(machines())

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def _second(before: guests.Counted, now: guests.Counted, lasted_s: float) -> Second:
    done = [
        getattr(now.done, name) - getattr(before.done, name)
        for name in ("read_ops", "write_ops", "read_bytes", "write_bytes")
    ]
    return Second(
        *done,
        at_iops=_is_near((done[0] + done[1]) / lasted_s, now.iops),
        at_bytes=_is_near((done[2] + done[3]) / lasted_s, now.bytes_per_s),
    )


def _is_near(rate: float, levels: Iterable[float]) -> bool:
    return any(_NEAR * level <= rate <= level / _NEAR for level in levels)
