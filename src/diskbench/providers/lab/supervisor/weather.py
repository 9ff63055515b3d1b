"""Noise and stalls, repeatable by seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

LEAST = 0.05
"""The lowest factor of the noise; our choice."""
STALLED = 0.0


@dataclass
class Weather:
    """A factor on all limits: `noise` is the standard deviation of one second to the next; every
    `stall_every_s` on average (exponential) no request is served for `stall_for_s`."""

    seed: int
    noise: float = 0.0
    stall_every_s: float = 0.0
    stall_for_s: float = 0.0
    _second: int = -1
    _factor: float = 1.0
    _stall_at: float | None = None
    _random: random.Random = field(init=False)
    _stalls: random.Random = field(init=False)

    def __post_init__(self) -> None:
        # Two random streams: the number of noise draws must not change the times of stalls.
        self._random = random.Random(f"{self.seed}/noise")  # noqa: S311 - not a secret
        self._stalls = random.Random(f"{self.seed}/stalls")  # noqa: S311 - not a secret

    def factor(self, at_s: float) -> float:
        """The factor at `at_s` seconds after the start; call with non-decreasing times."""
        return STALLED if self._stalled(at_s) else self._noisy(at_s)

    def _noisy(self, at_s: float) -> float:
        if self.noise <= 0:
            return 1.0
        while self._second < int(at_s):
            self._second += 1
            self._factor = max(LEAST, self._random.gauss(1.0, self.noise))
        return self._factor

    def _stalled(self, at_s: float) -> bool:
        if self.stall_every_s <= 0 or self.stall_for_s <= 0:
            return False
        if self._stall_at is None:
            self._stall_at = self._stalls.expovariate(1 / self.stall_every_s)
        while at_s >= self._stall_at + self.stall_for_s:
            self._stall_at += self.stall_for_s + self._stalls.expovariate(1 / self.stall_every_s)
        return at_s >= self._stall_at
