"""One token bucket, moved along by what a disk really did."""

from __future__ import annotations

from dataclasses import dataclass

HORIZON_S = 0.3
"""Within how many seconds what is left in a bucket may be spent. The last credits thus run out
over a few ticks, never past zero; a drop spread over so little is still sharp. Our choice."""
CRUMBS = 0.05
"""Less than so much of the baseline is not worth a new limit; it stays in the bucket. Ours."""
DEBT_S = 1.0
"""How many seconds of baseline a bucket may owe: a burst that was under way when it emptied."""


@dataclass
class Bucket:
    """A rate with a baseline and, where `capacity` is above zero, credits for more than it."""

    baseline: float
    burst: float
    capacity: float
    balance: float

    def flow(self, used: float, seconds: float) -> None:
        """`seconds` went by in which `used` was done."""
        moved = self.balance + self.baseline * seconds - used
        self.balance = max(-self.baseline * DEBT_S, min(self.capacity, moved))

    def allowed(self) -> float:
        """The rate that may be served from now on."""
        if self.capacity <= 0:
            return self.baseline
        extra = self.balance / HORIZON_S
        if extra < CRUMBS * self.baseline:
            return self.baseline
        return min(self.burst, self.baseline + extra)


def make_bucket(baseline: float, burst: float | None, capacity: float | None) -> Bucket:
    """A full bucket; without burst or capacity a plain rate."""
    if burst is None or not capacity:
        return Bucket(baseline, baseline, 0.0, 0.0)
    return Bucket(baseline, burst, capacity, capacity)
