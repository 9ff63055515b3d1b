"""Rates of the statistics over replicates, for method.py: (name, value, least, most, note).

Noise is log-normal; the environment of `order` has two bands (1.0 and 0.8) that change now and
then, for several trials at a time. Each case has its own seed.
"""

import math
import random

from diskbench.analysis.compare import Pair, compare, judge
from diskbench.analysis.drift import drift
from diskbench.analysis.repeats import median_interval, more_needed
from diskbench.model.matrix import MatrixCell
from diskbench.model.spec import Cell, TargetSpec
from diskbench.plan.matrix import ordered

REPLICATES = 12
BANDS = (1.0, 0.8)
STAYS = 0.85
"""How likely the next trial finds the band of the one before."""


def chance(expected, cases):
    """A bound that a true rate of `expected` passes 999 times of 1000."""
    return expected + 3.1 * math.sqrt(expected * (1 - expected) / cases)


def intervals(cases):
    """MR-6: how often the interval of the median holds the true median. MR-7: what is asked for."""
    tries = 20 * cases
    kinds = {
        "log-normal": lambda draw: math.exp(draw.gauss(0, 0.1)),
        "exponential": lambda draw: draw.expovariate(math.log(2)),
    }
    for n in (6, 10, 20):
        for kind, drawn in kinds.items():
            held = 0
            for seed in range(tries):
                draw = random.Random(f"{kind} {n} {seed}")
                found = median_interval([drawn(draw) for _ in range(n)])
                held += found.low <= 1 <= found.high
            name = f"interval of n = {n}, {kind}: holds the median"
            yield name, held / tries, 1 - chance(0.05, tries), None, ""
    for sd in (0.02, 0.05, 0.09):
        asked = []
        for seed in range(cases):
            draw = random.Random(seed)
            more = more_needed([math.exp(draw.gauss(0, sd)) for _ in range(10)])
            asked.append(410 if more is None else 10 + more)
        middle = sorted(asked)[cases // 2]
        yield f"replicates asked for after 10, sd {sd:.0%} (median)", middle, None, None, ""


def order(cases):
    """MR-8, MR-9: two identical systems must not differ, two that differ by a tenth must."""
    tries = 4 * cases
    for name, plan in (("in turn", in_turn), ("one after the other", one_after_the_other)):
        called = sum(finding(plan(seed), 1.0, seed) == "differs" for seed in range(tries))
        most = chance(0.05, tries) if plan is in_turn else None
        yield f"A/A {name}, two bands: called different", called / tries, None, most, ""
    called = sum(finding(in_turn(seed), 0.9, seed) == "differs" for seed in range(tries))
    yield "−10 % in turn, two bands: called different", called / tries, 0.85, None, ""
    called = sum(finding(in_turn(seed), 0.97, seed) == "differs" for seed in range(tries))
    yield "−3 % in turn: called different, though under 5 %", called / tries, None, 0.25, ""


def in_turn(seed):
    """The places of A's and B's trials, by replicate, as a matrix orders them."""
    places = {one.key: one.position for one in ordered(CELLS, "random", seed)}
    return tuple([places[f"{name}-{i}"] for i in range(REPLICATES)] for name in "ab")


def one_after_the_other(_seed):
    return list(range(REPLICATES)), list(range(REPLICATES, 2 * REPLICATES))


def cell(name, replicate):
    target = TargetSpec(kind="directory", path="/x")
    made = Cell(provider="local", target=target, profile="quick", replicate=replicate)
    return MatrixCell(
        position=0, key=f"{name}-{replicate}", block=name, cell=made, route="x", partition="x"
    )


CELLS = [cell(name, i) for name in "ab" for i in range(REPLICATES)]


def finding(places, effect, seed):
    """What is said of B, `effect` times as fast as A, in an environment of two bands."""
    draw = random.Random(seed)
    band, bands = draw.choice(BANDS), []
    for _ in range(2 * REPLICATES):
        band = band if draw.random() < STAYS else draw.choice(BANDS)
        bands.append(band)
    pairs = [
        Pair(
            bands[a] * math.exp(draw.gauss(0, 0.03)),
            effect * bands[b] * math.exp(draw.gauss(0, 0.03)),
            ("a", i),
            ("b", i),
        )
        for i, (a, b) in enumerate(zip(*places, strict=True))
    ]
    found = compare(pairs)
    return judge(found, found.p)


def histories(cases):
    """MR-15: −10 % seen three figures later; series of noise alone."""
    tries = 4 * cases
    for sd, after, least in ((0.02, 3, 0.95), (0.05, 3, None), (0.05, 10, None)):
        seen = 0
        for seed in range(tries):
            values = series(seed, sd, 60, after)
            seen += any(abs(one.at - (60 - after)) <= 2 for one in drift(values).shifts)
        name = f"−10 % in a history of 60, sd {sd:.0%}: seen after {after}"
        yield name, seen / tries, least, None, ""
    for sd in (0.02, 0.05, 0.10):
        called = sum(bool(drift(series(seed, sd, 60, 0)).shifts) for seed in range(tries))
        yield f"history of noise, sd {sd:.0%}: a change is told", called / tries, None, 0.05, ""


def series(seed, sd, count, after, step=-0.1):
    draw = random.Random(seed)
    levels = [1000.0] * (count - after) + [1000 * (1 + step)] * after
    return [level * math.exp(draw.gauss(0, sd)) for level in levels]


TABLES = {"intervals": intervals, "order": order, "histories": histories}
