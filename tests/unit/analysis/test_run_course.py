"""The level of a step over the consecutive runs of a trial."""

import random

from hypothesis import given
from hypothesis import strategies as st

from diskbench.analysis.run_course import run_course


def noisy(*levels, sd=0.01, seed=1):
    """Figures of runs: (level, count) one after the other."""
    drawn = random.Random(seed)
    return [level * drawn.gauss(1, sd) for level, count in levels for _ in range(count)]


def test_a_fall_is_burst_and_then_baseline():
    burst, baseline = run_course(noisy((3634, 33), (108, 20)))
    assert (burst.start, burst.end, burst.kind) == (0, 33, "burst")
    assert (baseline.start, baseline.end, baseline.kind) == (33, 53, "baseline")
    assert baseline.fell_from == burst.level


def test_a_recovery_between_two_falls_is_burst_again():
    kinds = [one.kind for one in run_course(noisy((300, 5), (80, 4), (300, 5), (80, 30)))]
    assert kinds == ["burst", "baseline", "burst", "baseline"]


def test_a_rise_is_no_burst():
    assert {one.kind for one in run_course(noisy((100, 10), (200, 10)))} == {"level"}


def test_five_runs_tell_nothing():
    assert run_course([3000, 3000, 100, 100, 100]) == ()


@given(sd=st.floats(0.001, 0.05), seed=st.integers(0, 500))
def test_runs_at_one_level_are_one(sd, seed):
    (found,) = run_course(noisy((1000, 30), sd=sd, seed=seed))
    assert (found.start, found.end, found.kind) == (0, 30, "level")
