"""Lines of benchmarks/rates.py about series without a level: drift, dips, and two modes."""

from functools import partial

import numpy as np
from tests.rigs.synthetic import Noise, flat, settling, steps

from diskbench.analysis.unsteady import dips, drift, two_modes, two_modes_of_runs

CASES = 200
LEVEL = 5000.0
LOW = 0.4
PERIOD_S, DIP_S = 60, 6
TURNS = ((LEVEL, 13), (LOW * LEVEL, 9), (LEVEL, 31), (LOW * LEVEL, 17))
RULES = (drift, dips, two_modes)


def noise_alone(seconds, noise):
    """How often noise about one level is called a drift, dips or two modes."""
    series = [flat(LEVEL, seconds, noise, seed=seed) for seed in range(CASES)]
    return tuple((sum(rule(values) is not None for values in series), CASES) for rule in RULES)


def planted(seconds, noise):
    """How often a rate that halves, dips and two rates in turn are found."""
    halves = dipped = turned = 0
    for seed in range(CASES):
        slow = settling(LEVEL, 0.2 * LEVEL, seconds / 0.98, seconds, noise, seed=seed)
        halves += drift(slow) is not None
        dip = [(LEVEL, PERIOD_S - DIP_S), (LOW * LEVEL, DIP_S)] * (seconds // PERIOD_S)
        found = dips(steps(dip, noise, seed=seed))
        dipped += found is not None and abs(found.every_s - PERIOD_S) <= 1
        turns = TURNS * max(1, seconds // sum(length for _, length in TURNS))
        turned += two_modes(steps(turns, noise, seed=seed)) is not None
    return (halves, CASES), (dipped, CASES), (turned, CASES)


def runs(count, noise):
    """How often runs at one level are called two modes, and runs at two rates by chance are."""
    false = found = 0
    for seed in range(CASES):
        values = flat(LEVEL, count, noise, seed=seed)
        false += two_modes_of_runs(values) is not None
        is_low = np.random.default_rng(seed).permutation(np.arange(count) < LOW * count)
        found += two_modes_of_runs(values * np.where(is_low, LOW, 1.0)) is not None
    return (false, CASES), (found, CASES)


FALSE = ((0.15, 0.0), (0.15, 0.5), (0.3, 0.9), (0.15, 0.97))
LINES = {
    f"{kind}, {seconds:,} s, φ {phi:g}, sd {100 * sd:g} %": partial(rule, seconds, Noise(sd, phi))
    for kind, rule, lengths, noises in (
        ("false", noise_alone, (120, 3600), FALSE),
        ("found", planted, (600,), ((0.05, 0.0), (0.15, 0.5))),
    )
    for seconds in lengths
    for sd, phi in noises
}
RUNS = {
    f"{count} runs, φ {phi:g}, sd {100 * sd:g} %": partial(runs, count, Noise(sd, phi))
    for count in (6, 10, 40)
    for sd, phi in ((0.15, 0.0), (0.15, 0.44))
}
