"""How long requests take, the same for the same seed. Pure."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator


def draws(seed: int, volume: str, median_s: float, sigma: float) -> Iterator[float]:
    """The latencies in seconds of a disk's requests in the order in which they come, without end:
    lognormal with the given median, `sigma` the standard deviation of the logarithm."""
    # Not the stream of noise and stalls: those must not change when this does.
    stream = random.Random(f"{seed}/latency/{volume}")  # noqa: S311 - not a secret
    while True:
        yield median_s * math.exp(sigma * stream.gauss(0.0, 1.0))
