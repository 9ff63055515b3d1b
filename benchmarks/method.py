"""How often the detectors are right, on made series whose answers are known.

    python benchmarks/method.py [--cases 50] [--only NAME…]

Prints a table for each and fails (exit 1) where a rate is out of its bounds. The bounds are those
of the method's requirements (docs/METHOD.md names them); each series has its own seed, so that the
same cases come out the same. Tables: cliffs, false alarms, stalls; of replicates intervals, order,
histories.
"""

import argparse
import math
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.rigs.synthetic import Noise, bucket, flat, settling, steps, with_stalls

from diskbench.analysis.compare import Pair, compare, judge
from diskbench.analysis.drift import drift
from diskbench.analysis.phases import step_phases
from diskbench.analysis.repeats import median_interval, more_needed
from diskbench.model.matrix import MatrixCell
from diskbench.model.spec import Cell, TargetSpec
from diskbench.plan.matrix import ordered

SECONDS = 3600
NEAR_S = 30
"""A cliff found so near is found (MR-4)."""


@dataclass(frozen=True)
class Rate:
    """A share with the bound that it is held to: at least for hits, at most for false alarms."""

    name: str
    value: float
    least: float | None = None
    most: float | None = None
    note: str = ""

    @property
    def holds(self):
        above = self.least is None or self.value >= self.least
        return above and (self.most is None or self.value <= self.most)

    def line(self):
        bound = f"≥ {self.least:g}" if self.least is not None else ""
        bound = f"≤ {self.most:g}" if self.most is not None else bound
        end = "" if self.holds else "  OUT OF BOUNDS"
        return f"  {self.name:<52} {self.value:6.3f}  {bound:<7} {self.note}{end}".rstrip()


def main():
    options = arguments().parse_args()
    good = True
    for name in options.only or TABLES:
        rates = list(TABLES[name](options.cases))
        print(f"{name} (n = {options.cases} a line)")
        for rate in rates:
            print(rate.line(), flush=True)
        good = good and all(rate.holds for rate in rates)
    return 0 if good else 1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=50, help="series a line")
    parser.add_argument("--only", nargs="+", choices=tuple(TABLES))
    return parser


def phases(values):
    return step_phases(values, values * 4096)


def cliffs(cases):
    """Random buckets first: size, rates, noise and moment differ from case to case."""
    yield from scored("buckets of any size, sd 2–10 %", cases, random_bucket, least=0.95)
    for noise in (Noise(0.05), Noise(0.10, 0.5), Noise(0.10, 0.9), Noise(0.10, 0.97)):
        name = f"−40 % steps, sd {noise.sd:.0%}, φ {noise.phi:g}"
        bound = 0.95 if noise.phi < 0.97 else None
        yield from scored(name, cases, lambda seed, n=noise: random_step(seed, 0.6, n), least=bound)


def random_bucket(seed):
    """A bucket that runs out 2 to 55 minutes after the start, and when it does."""
    draw = random.Random(seed)
    baseline = draw.uniform(50, 2000)
    burst = baseline * draw.uniform(1.6, 30)
    at = draw.uniform(120, SECONDS - 300)
    noise = Noise(draw.uniform(0.02, 0.10), draw.uniform(0, 0.8), outliers=0.002)
    values = bucket((burst - baseline) * at, burst, baseline, SECONDS, noise, seed=seed)
    # The same seed without noise in the rate tells which level each second has.
    level = values / noise.factors(SECONDS, np.random.default_rng(seed))
    return values, float((level > (burst + baseline) / 2).sum())


def random_step(seed, ratio, noise):
    at = random.Random(seed).randint(300, SECONDS - 300)
    loud = Noise(noise.sd, noise.phi, outliers=0.002)
    return steps([(3000, at), (3000 * ratio, SECONDS - at)], loud, seed=seed), float(at)


def scored(name, cases, make, *, least):
    """Precision and recall over all cases, and the error of those found."""
    found = hits = 0
    errors = []
    for seed in range(cases):
        values, at = make(seed)
        off = [abs(cliff.at_s - at) for cliff in phases(values).cliffs]
        found += len(off)
        near = [one for one in off if one <= NEAR_S]
        hits += bool(near)
        errors += near[:1]
    worst = f"error: median {median(errors):.0f} s, worst {max(errors):.0f} s" if errors else ""
    yield Rate(f"{name}: recall", hits / cases, least=least, note=worst)
    yield Rate(f"{name}: precision", hits / found if found else 1.0, least=least)


def alarms(cases):
    for sd, phi in ((0.05, 0.0), (0.10, 0.5), (0.10, 0.9), (0.15, 0.9), (0.10, 0.97)):
        noise = Noise(sd, phi, outliers=0.002)
        called = sum(bool(phases(flat(1000, SECONDS, noise, seed=s)).cliffs) for s in range(cases))
        yield Rate(f"flat, sd {sd:.0%}, φ {phi:g}: called a cliff", called / cases, most=0.01)
    for tau in (60, 150, 400):
        noise = Noise(0.05, 0.5, outliers=0.002)
        made = (settling(2500, 1000, tau, SECONDS, noise, seed=seed) for seed in range(cases))
        called = sum(bool(phases(one).cliffs) for one in made)
        yield Rate(f"settling 2,500 → 1,000, τ {tau} s: called a cliff", called / cases, most=0.05)


def stalled(cases):
    """Stalls of 1 to 50 s, three a series, over a burst and a baseline."""
    wanted = found = exact = wrong = 0
    for seed in range(cases):
        draw = random.Random(seed)
        noise = Noise(draw.uniform(0.02, 0.10), draw.uniform(0, 0.8))
        values = steps([(3000, 1500), (100, 2100)], noise, seed=seed)
        starts = (draw.randint(100, 1300), draw.randint(1700, 2400), draw.randint(2600, 3400))
        spans = [(start, start + draw.randint(1, 50)) for start in starts]
        told = {(s.start_s, s.end_s) for s in phases(with_stalls(values, spans)).stalls}
        wanted += len(spans)
        found += len(told)
        exact += len(told & set(spans))
        wrong += len(phases(values).stalls)
    yield Rate("stalls: recall, to the second", exact / wanted, least=0.99)
    yield Rate("stalls: precision", exact / found if found else 1.0, least=0.99)
    yield Rate("stalls in series without any, a series", wrong / cases, most=0.01)


# --- Statistics over replicates. Noise is log-normal; the environment of `order` has two bands that
# change now and then, for several trials at a time.

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
            yield Rate(name, held / tries, 1 - chance(0.05, tries), None)
    for sd in (0.02, 0.05, 0.09):
        asked = []
        for seed in range(cases):
            draw = random.Random(seed)
            more = more_needed([math.exp(draw.gauss(0, sd)) for _ in range(10)])
            asked.append(410 if more is None else 10 + more)
        middle = sorted(asked)[cases // 2]
        yield Rate(f"replicates asked for after 10, sd {sd:.0%} (median)", middle, None, None)


def order(cases):
    """MR-8, MR-9: two identical systems must not differ, two that differ by a tenth must."""
    tries = 4 * cases
    for name, plan in (("in turn", in_turn), ("one after the other", one_after_the_other)):
        called = sum(finding(plan(seed), 1.0, seed) == "differs" for seed in range(tries))
        most = chance(0.05, tries) if plan is in_turn else None
        yield Rate(f"A/A {name}, two bands: called different", called / tries, None, most)
    called = sum(finding(in_turn(seed), 0.9, seed) == "differs" for seed in range(tries))
    yield Rate("−10 % in turn, two bands: called different", called / tries, 0.85, None)
    called = sum(finding(in_turn(seed), 0.97, seed) == "differs" for seed in range(tries))
    yield Rate("−3 % in turn: called different, though under 5 %", called / tries, None, 0.25)


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
        yield Rate(name, seen / tries, least, None)
    for sd in (0.02, 0.05, 0.10):
        called = sum(bool(drift(series(seed, sd, 60, 0)).shifts) for seed in range(tries))
        yield Rate(f"history of noise, sd {sd:.0%}: a change is told", called / tries, None, 0.05)


def series(seed, sd, count, after, step=-0.1):
    draw = random.Random(seed)
    levels = [1000.0] * (count - after) + [1000 * (1 + step)] * after
    return [level * math.exp(draw.gauss(0, sd)) for level in levels]


TABLES = {
    "cliffs": cliffs, "alarms": alarms, "stalls": stalled,
    "intervals": intervals, "order": order, "histories": histories,
}  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
