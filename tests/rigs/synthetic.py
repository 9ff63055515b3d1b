"""Per-second series with known answers, for tests and benchmarks of the detectors. Seeded."""

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Noise:
    """Multiplicative noise: exp of an AR(1) process of standard deviation `sd` whose neighbouring
    seconds correlate with `phi`; a share of `outliers` seconds is three times too high or low."""

    sd: float = 0.05
    phi: float = 0.0
    outliers: float = 0.0

    def factors(self, seconds, generator):
        # The first value is drawn from the stationary distribution, so that there is no warm-up.
        shocks = generator.normal(size=seconds) * np.sqrt(1 - self.phi**2)
        shocks[:1] = generator.normal(size=shocks[:1].size)
        following = accumulate(shocks.tolist(), lambda before, shock: self.phi * before + shock)
        log = self.sd * np.fromiter(following, dtype=float, count=seconds)
        off = generator.random(seconds) < self.outliers
        log[off] += generator.choice([-1.0, 1.0], size=int(off.sum())) * np.log(3)
        return np.exp(log)


def flat(level, seconds, noise, *, seed):
    return steps([(level, seconds)], noise, seed=seed)


def steps(levels, noise, *, seed):
    clean = np.concatenate([np.full(seconds, level, dtype=float) for level, seconds in levels])
    return clean * noise.factors(clean.size, np.random.default_rng(seed))


def settling(start, end, tau_s, seconds, noise, *, seed):
    """Return an exponential approach from one level to another: a change without a cliff."""
    clean = end + (start - end) * np.exp(-np.arange(seconds) / tau_s)
    return clean * noise.factors(seconds, np.random.default_rng(seed))


def bucket(credits_, burst, baseline, seconds, noise, *, seed):
    """A token bucket under full load, emptied by the I/Os of the series: its cliff is where the
    credit is used up, by noise some seconds from credits / (burst − baseline)."""
    factors = noise.factors(seconds, np.random.default_rng(seed))
    spent = np.cumsum(burst * factors - baseline)
    return np.where(spent <= credits_, burst, baseline) * factors


def with_stalls(values, stalls, *, left=0.0):
    """The series with nothing (or the share `left`) done from second `start` to `end` of each."""
    series = values.copy()
    for start, end in stalls:
        series[start:end] *= left
    return series
