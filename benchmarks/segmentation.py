"""How long the changes of level of a per-second series take to find, in CPU time.

    python benchmarks/segmentation.py [--times 20]

Series of noise and of a disk that falls off a cliff, of an hour, of four and of a day. The floor is
one step of the search in NumPy for all pairs of places in the series: an addition and the least sum
of each row. Both are taken in turn; the table shows the least time of each, and their ratio.
Targets, our choice: 8 times that step, and 12 ms of CPU for an hour on two cores of 2026.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.rigs.synthetic import Noise, bucket, flat

from diskbench.analysis.changes import changes

MOST_RATIO = 8
MOST_MS_OF_AN_HOUR = 12


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=20)
    options = parser.parse_args()
    print(f"{'series':22}{'changes ms':>12}{'floor ms':>10}{'ratio':>8}")
    worst, of_an_hour = 0.0, 0.0
    for name, values in series():
        ours, floors = [], []
        for _ in range(options.times):
            ours.append(cpu_s(changes, values))
            floors.append(cpu_s(floor, values))
        ratio = min(ours) / min(floors)
        worst = max(worst, ratio)
        if name.startswith("1 h"):
            of_an_hour = max(of_an_hour, 1000 * min(ours))
        print(f"{name:22}{1000 * min(ours):12.1f}{1000 * min(floors):10.1f}{ratio:8.1f}")
    met = worst <= MOST_RATIO and of_an_hour <= MOST_MS_OF_AN_HOUR
    print(
        f"at most {worst:.1f} times the floor, {of_an_hour:.1f} ms for an hour; "
        f"target {MOST_RATIO} times and {MOST_MS_OF_AN_HOUR} ms: {'met' if met else 'MISSED'}"
    )
    return 0 if met else 1


def series():
    noise = Noise(sd=0.1, phi=0.3)
    for hours in (1, 4, 24):
        seconds = 3600 * hours
        yield f"{hours} h of noise", flat(1000, seconds, noise, seed=1)
        yield f"{hours} h with a cliff", bucket(1160 * seconds, 3000, 100, seconds, noise, seed=2)


def floor(values):
    bins = min(values.size // 5, 2000)
    costs = np.ones((bins, bins))
    (costs + np.arange(bins)).argmin(axis=1)


def cpu_s(call, values):
    began = time.process_time()
    call(values)
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())
