"""The level of a step over the consecutive runs of a trial."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.synthetic import Noise, flat, steps

from diskbench.analysis.run_course import joint_courses, run_course


def noisy(*levels, sd=0.01, seed=1):
    """Figures of runs: (level, count) one after the other."""
    drawn = random.Random(seed)
    return [level * drawn.gauss(1, sd) for level, count in levels for _ in range(count)]


def test_a_fall_is_burst_and_then_baseline():
    burst, baseline = run_course(noisy((3634, 33), (108, 20)))
    assert (burst.start, burst.end, burst.kind) == (0, 33, "burst")
    assert (baseline.start, baseline.end, baseline.kind) == (33, 53, "baseline")
    assert baseline.fell_from == burst.level


@pytest.mark.parametrize(
    ("runs", "wanted"),
    [
        ([(300, 5), (80, 4), (300, 5), (80, 30)], [("burst", 0), ("baseline", 5), ("burst", 9),
                                                   ("baseline", 14)]),
        ([(3000, 5), (100, 6), (3000, 2), (100, 6)], [("burst", 0), ("baseline", 5), ("burst", 11),
                                                      ("baseline", 13)]),
        ([(3000, 5), (100, 6), (3000, 4), (100, 6), (3000, 4)],
         [("burst", 0), ("baseline", 5), ("burst", 11), ("baseline", 15), ("burst", 21)]),
        ([(100, 10), (200, 10)], [("level", 0), ("level", 10)]),
        ([(4000, 20), (3400, 20)], [("level", 0)]),
        ([(3000, 6), (100, 1), (3000, 6)], [("level", 0)]),
        ([(3000, 6), (9000, 1), (3000, 6)], [("level", 0)]),
    ],
    ids=["a recovery between two falls is burst again", "two runs are a burst of their own",
         "bursts that come back to one level are bursts even if one is last", "a rise is no burst",
         "levels less than a fifth apart are one", "one low run is no level",
         "one high run is no level"],
)  # fmt: skip
def test_the_levels_of_runs_are_called_what_they_are(runs, wanted):
    assert [(one.kind, one.start) for one in run_course(noisy(*runs))] == wanted


def split(n, noise, *, cases=60):
    """The share of series of one level that are cut."""
    series = (flat(4000, n, noise, seed=seed).tolist() for seed in range(cases))
    return sum(len(run_course(one)) > 1 for one in series) / cases


@pytest.mark.slow
@pytest.mark.parametrize("n", [12, 30, 100])
def test_correlated_runs_are_not_split(n):
    assert split(n, Noise(sd=0.15, phi=0.44)) <= 0.05


@pytest.mark.parametrize(
    ("before", "after", "first", "rest"),
    [(3000, 100, 33, 7), (300, 80, 4, 6), (4000, 2400, 20, 20)],
)
def test_falls_in_correlated_runs_are_found_in_their_run(before, after, first, rest):
    found = 0
    for seed in range(40):
        levels = [(before, first), (after, rest)]
        course = run_course(steps(levels, Noise(sd=0.08, phi=0.44), seed=seed).tolist())
        found += len(course) == 2 and abs(course[1].start - first) <= 1
    assert found >= 38


@given(sd=st.floats(0.001, 0.05), seed=st.integers(0, 500))
def test_runs_at_one_level_are_one(sd, seed):
    (found,) = run_course(noisy((1000, 30), sd=sd, seed=seed))
    assert (found.start, found.end, found.kind) == (0, 30, "level")


def test_steps_that_fall_together_show_one_fall():
    """19 % is less than a cliff by itself; beside a fall of reads in the same run it is that."""
    reads = [300.0] * 8 + [100.0] * 8
    random = [1000.0, 1010, 990, 1005, 995, 1000, 1008, 992] + [810.0, 800, 815, 805] * 2
    alone = joint_courses({"random": list(enumerate(random))})["random"]
    assert not any(stretch.fell_from for stretch in alone)
    for late in (0, 1):
        shifted = list(enumerate([reads[0]] * late + reads))[: len(random)]
        found = joint_courses({"read": shifted, "random": list(enumerate(random))})["random"]
        assert [stretch.kind for stretch in found] == ["burst"] * 8 + ["baseline"] * 8
        assert found[8].fell_from == pytest.approx(1000, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("sd", [0.02, 0.1, 0.15])
def test_what_did_not_fall_beside_a_fall_is_one_level(sd):
    """Of 200 noisy steps beside a fall at most 3 % are called fallen."""
    generator = np.random.default_rng(5)
    reads = list(enumerate([300.0] * 20 + [100.0] * 20))
    noise = np.exp(generator.normal(0, sd, (200, 40)))
    courses = (joint_courses({"r": reads, "x": list(enumerate(1000 * of))}) for of in noise)
    assert sum(any(s.fell_from for s in course["x"]) for course in courses) <= 6


def test_five_runs_tell_nothing_and_one_between_two_levels_costs_itself():
    assert run_course([3000, 3000, 100, 100, 100]) == ()
    course = run_course(noisy((3000, 7), (1400, 1), (100, 9), sd=0.05))
    assert [one.kind for one in course] == ["burst", "baseline"]
    assert course[0].end in (7, 8)


def test_steps_that_would_not_be_believed_alone_support_each_other():
    """Three steps that fall by 36 % at a noise of 15 %: each alone is seldom believed."""
    noise, alone, together = Noise(0.15), 0, 0
    for seed in range(40):
        seeds = {"a": seed, "b": seed + 99, "c": seed + 499}
        levels = [(1000, 8), (640, 8)]
        of = {name: steps(levels, noise, seed=one).tolist() for name, one in seeds.items()}
        alone += sum(len(run_course(values)) > 1 for values in of.values())
        both = joint_courses({name: list(enumerate(values)) for name, values in of.items()})
        together += sum(len(set(course)) > 1 for course in both.values())
    assert alone <= 60
    assert together >= 80
