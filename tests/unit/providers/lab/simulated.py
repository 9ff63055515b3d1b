"""A lab disk without a device and without a clock: the supervisor's own governor and hold, and a
load that takes all that the kernel's limits let through."""

import math
from dataclasses import dataclass, field, replace

from diskbench.catalog.bucket import LAB_CUT_BYTES
from diskbench.providers.lab.devices import NO_LIMITS, Counters, ThrottleLimits
from diskbench.providers.lab.supervisor.__main__ import Hold
from diskbench.providers.lab.supervisor.governor import Governor
from diskbench.providers.lab.supervisor.rates import Orders, ThrottledDisk

TICK_S = 0.1
"""As the supervisor's own (providers/lab/supervisor/__main__.py)."""


@dataclass
class SimulatedDisk:
    """One disk under its governor. `cut_bytes` is where its device cuts requests."""

    disk: ThrottledDisk
    cut_bytes: int = LAB_CUT_BYTES
    governor: Governor = field(init=False)
    at_s: float = 0.0
    _hold: Hold = field(default_factory=Hold)
    _under_way: float = 0.0
    _ops: int = 0
    _bytes: float = 0.0
    _told: ThrottleLimits = NO_LIMITS

    def __post_init__(self):
        self.governor = Governor(Orders(1, 1, "/nowhere", (self.disk,)))
        self._tick(0.0)

    def hold_credit(self, *, on):
        """As LabProvider.set_credit."""
        self.governor.follow(replace(self.governor.orders, credit=on))

    def run(self, block_bytes, *, seconds=math.inf, bytes_moved=math.inf):
        """Reads of a size, deep enough to take whatever is allowed, for a time or until so much is
        moved; the blocks of each whole second."""
        parts = math.ceil(block_bytes / self.cut_bytes)
        done, of_second, ticks, moved = [], 0.0, 0, 0.0
        while ticks * TICK_S < seconds and moved < bytes_moved:
            # A simulated queue has no other bound than the limits; a disk without any would hang.
            of_ops = (self._told.read_iops or math.inf) / parts
            rate = min(1e6, of_ops, (self._told.read_bps or math.inf) / block_bytes)
            blocks = min(rate * TICK_S, (bytes_moved - moved) / block_bytes)
            self._under_way += blocks * parts
            ended = math.floor(self._under_way + 1e-9)
            self._under_way -= ended
            self._ops += ended
            self._bytes += ended * block_bytes / parts
            moved += blocks * block_bytes
            of_second += blocks
            ticks += 1
            self._tick(TICK_S)
            if ticks % round(1 / TICK_S) == 0:
                done.append(of_second)
                of_second = 0.0
        return done

    def left(self):
        """Credits by pool and kind: `0/iops`."""
        left = self.governor.balances_left()
        return {key.partition("/")[2]: value for key, value in left.items()}

    def _tick(self, seconds):
        self.at_s += seconds
        kernel = self.disk.kernel
        counters = Counters(self._ops, round(self._bytes), 0, 0)
        wanted = self.governor.tick({kernel: counters}, seconds, self.at_s)[kernel]
        if self._hold.due(kernel, wanted):
            self._hold.note_written(kernel, wanted)
            self._told = wanted
