"""What the phases of a series are, its stalls, and the level of a step over consecutive runs."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.synthetic import Noise, bucket, flat, settling, steps, with_stalls
from tests.unit.report.inside import expectation

from diskbench.analysis.phases import step_phases
from diskbench.analysis.run_course import joint_courses, run_course
from diskbench.analysis.stalls import filled, longest, stalls

QUIET = Noise(sd=0.03, phi=0.5)


def of(values, **more):
    return step_phases(values, values * 4096, **more)


def kinds(found):
    return [phase.kind for phase in found.phases]


def test_each_burst_its_cliff_its_credits_and_the_baseline_are_found_where_they_are():
    found = of(steps([(3000, 1862), (100, 900)], QUIET, seed=1))
    burst, baseline = found.phases
    assert kinds(found) == ["burst", "baseline"]
    assert burst.end_s == baseline.start_s == pytest.approx(1862, abs=3)
    assert burst.iops == pytest.approx(3000, rel=0.02)
    assert baseline.iops == pytest.approx(100, rel=0.02)
    assert baseline.bytes_per_s == pytest.approx(409_600, rel=0.02)
    [cliff] = of(bucket(5_400_000, 3000, 100, 2400, QUIET, seed=2)).cliffs
    assert cliff.credits == pytest.approx(5_400_000, rel=0.01)
    found = of(steps([(3000, 600), (1500, 900), (500, 1200)], QUIET, seed=4))
    assert kinds(found) == ["burst", "burst", "baseline"]
    assert [cliff.at_s for cliff in found.cliffs] == pytest.approx([600, 1500], abs=3)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (of(steps([(1000, 900), (500, 600), (1000, 900)], QUIET, seed=5)), ["level"] * 3),
        (of(steps([(3000, 900), (100, 900)] * 2, QUIET, seed=5)), ["burst", "baseline"] * 2),
        (of(steps([(500, 2000), (3500, 30), (500, 2000)], QUIET, seed=33)), ["level"]),
    ],
    ids=["a dip that recovers is no bucket", "credit that comes back bursts again",
         "half a minute at another level is no phase"],
)  # fmt: skip
def test_the_levels_are_called_what_they_are(found, wanted):
    assert (kinds(found), found.stalls) == (wanted, ())


@pytest.mark.parametrize(
    ("promise", "kind", "words"),
    [
        (None, "level", "steady"),
        (expectation(3000, 100, None), "burst", "steady (burst)"),
        (expectation(3000, 3000, None), "baseline", "steady (baseline)"),
        # Far above what has no credit is no burst.
        (expectation(500, 500, None), "level", "steady"),
    ],
)
def test_only_a_promise_tells_of_one_level_if_it_is_a_burst_or_a_baseline(promise, kind, words):
    found = of(flat(3000, 900, QUIET, seed=3), expected=promise)
    assert (kinds(found), found.steady.words(), found.stalls) == ([kind], words, ())


def test_a_slow_settling_is_a_ramp_and_no_cliff():
    found = of(settling(2500, 1000, 200, 1800, QUIET, seed=6))
    assert (kinds(found), found.cliffs) == (["ramp", "level"], ())
    assert found.phases[0].from_iops > 2 * found.phases[0].to_iops * 0.8


def test_short_stalls_make_no_phase_and_are_all_told_and_many_are_no_steady_state():
    found = of(with_stalls(flat(1000, 900, QUIET, seed=8), [(100, 101), (300, 345)]))
    assert kinds(found) == ["level"]
    assert [(one.start_s, one.end_s) for one in found.stalls] == [(100, 101), (300, 345)]
    # The level is 1,000, and in 46 of 900 seconds nothing was done.
    assert found.phases[0].iops == pytest.approx(1000 * 854 / 900, rel=0.02)
    assert found.steady.state == "steady"  # its last five minutes did not stall
    every = [(second, second + 3) for second in range(30, 900, 60)]
    found = of(with_stalls(flat(1000, 900, QUIET, seed=8), every))
    assert (found.steady.state, found.stalled_s) == ("not steady", 45)


@pytest.mark.parametrize("still", [[], [(1500, 1503)]])
def test_at_a_baseline_below_a_tenth_of_the_median_a_stall_is_measured_against_it(still):
    series = with_stalls(steps([(3000, 1200), (100, 600)], QUIET, seed=9), still)
    assert [(one.start_s, one.end_s) for one in of(series).stalls] == still


def test_a_long_stall_is_a_phase_and_a_disk_that_stops_answering_has_no_baseline_of_nothing():
    for end, wanted in ((1020, ["level", "stall", "level"]), (1800, ["level", "stall"])):
        found = of(with_stalls(flat(1000, 1800, QUIET, seed=10), [(900, end)]))
        assert kinds(found) == wanted
        assert [(one.start_s, one.end_s) for one in found.stalls] == [(900, end)]


def test_the_last_second_is_seldom_whole_and_counts_for_nothing():
    series = flat(1000, 300, QUIET, seed=12)
    series[-1] = 3
    found = of(series)
    assert (found.stalls, found.phases[-1].end_s) == ((), 300)


def test_bytes_are_cut_where_a_log_has_no_ios_and_a_scaled_bucket_in_scaled_seconds():
    series = steps([(3000, 600), (100, 600)], QUIET, seed=13)
    found = step_phases(np.zeros(series.size), series * 4096)
    assert found.figure == "bytes_per_s"
    assert kinds(found) == ["burst", "baseline"]
    assert found.phases[0].iops is None
    series = steps([(3000, 40), (100, 40)], QUIET, seed=14)
    assert kinds(of(series)) == ["level"]
    assert kinds(of(series, shortest_s=12)) == ["burst", "baseline"]


def test_what_is_served_in_batches_or_in_turn_is_one_level_of_its_mean():
    batches = [3000 if second % 30 == 0 else 0 for second in range(900)]
    found = of(np.array([3000.0] * 900 + batches))
    assert kinds(found) == ["burst", "baseline"]
    assert found.phases[1].iops == pytest.approx(100, rel=0.05)
    [phase] = of(np.tile([0.0, 2000.0], 300)).phases
    assert (phase.kind, phase.iops) == ("level", pytest.approx(1000, rel=0.01))


@pytest.mark.parametrize("tau", [40, 60, 90])
@pytest.mark.parametrize("seed", range(5))
def test_what_lies_within_a_steep_settling_is_no_level(tau, seed):
    assert of(settling(2500, 1000, tau, 1800, Noise(sd=0.05, phi=0.5), seed=seed)).cliffs == ()


def rest_and_burst(times: int):
    """A bucket that runs out, rests for twenty minutes and runs out again, `times` times."""
    first = [(3000, 2000), (300, 400), (1e-6, 1200)]
    return steps([*first, *[(3000, 133), (300, 2267), (1e-6, 1200)] * times], QUIET, seed=31)


@pytest.mark.slow
def test_a_disk_that_rests_and_bursts_in_turn_is_cut_each_time():
    found = of(rest_and_burst(3))
    assert kinds(found) == ["burst", "baseline", "stall", *["burst", "baseline", "stall"] * 3]
    starts = [cliff.at_s for cliff in found.cliffs]
    assert starts == pytest.approx([2000, 3733, 7333, 10933], abs=3)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ends", [(3000, 1000), (1000, 3000), (200, 105)])
@pytest.mark.slow
def test_a_slope_of_hours_is_one_ramp_however_noisy(ends, seed):
    clean = np.linspace(*ends, 7200)
    found = of(clean * Noise(sd=0.12, phi=0.6).factors(7200, np.random.default_rng(seed)))
    assert (kinds(found), found.cliffs) == (["ramp"], ())
    assert found.steady.state == "not steady"


def test_a_ramp_stalls_where_it_stands_still_and_not_where_it_is_slow():
    clean = np.concatenate([np.linspace(120, 3000, 4000), np.full(3600, 3000.0)])
    found = of(clean * Noise(sd=0.05, phi=0.5).factors(7600, np.random.default_rng(32)))
    assert (kinds(found), found.stalls) == (["ramp", "level"], ())
    values = np.linspace(1000, 3000, 3600)
    values[900:904] = 0
    (stall,) = of(values).stalls
    assert (stall.start_s, stall.end_s) == (900, 904)


def test_a_steady_fall_has_no_level_and_a_series_of_nothing_is_a_stall():
    found = of(np.linspace(3000, 1500, 1800) * QUIET.factors(1800, np.random.default_rng(7)))
    assert (kinds(found), found.steady.state) == (["ramp"], "not steady")
    assert kinds(of(np.zeros(200))) == ["stall"]


@pytest.mark.parametrize("seconds", [0, 1, 2, 5])
def test_a_series_of_hardly_any_seconds_is_borne(seconds):
    found = of(np.full(seconds, 100.0))
    assert found.steady.state == "too short"
    assert len(found.phases) == (1 if seconds else 0)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200), st.integers(4, 20))
def test_the_phases_of_any_series_are_all_of_it_in_order(values, shortest_s):
    found = of(np.array(values), shortest_s=shortest_s)
    edges = [phase.start_s for phase in found.phases] + [found.phases[-1].end_s]
    assert (edges[0], edges[-1], edges) == (0, len(values), sorted(set(edges)))
    for stall in found.stalls:
        assert 0 <= stall.start_s < stall.end_s <= len(values)


@pytest.mark.parametrize(("start", "end"), [(5, 95), (720, 765), (1434, 1479)])
def test_a_long_stall_of_a_slow_disk_is_a_stall_and_no_level(start, end):
    values = np.random.default_rng(1).poisson(12, 1800).astype(float)
    values[start:end] = 0
    found = step_phases(values, values * 4096)
    assert any(one.start_s < end and start < one.end_s for one in found.stalls)
    assert not [cliff for cliff in found.cliffs if abs(cliff.at_s - start) < 60]


def test_a_stall_is_less_than_a_tenth_of_the_median():
    def found(*values, missed=0):
        return stalls(np.array(values), missed=missed)

    assert found(100, 100, 10, 9.9, 100, 0, 0, 100, 100, 100) == ((3, 4), (5, 7)), "a tenth is none"
    assert found(0, 100, 100, 100, 0) == ((0, 1), (4, 5))
    assert found(*[0.0] * 10) == found() == ()
    few = np.full(100, 4.0)
    few[[10, 50, 51, 52]] = 0  # a second without one of few is none, three are
    assert found(*few, missed=10) == ((50, 53),)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=80))
def test_exactly_the_seconds_below_a_tenth_are_in_a_stall(values):
    series = np.array(values)
    stalled = {second for start, end in stalls(series) for second in range(start, end)}
    assert stalled == set(np.flatnonzero(series < 0.1 * np.median(series)).tolist())


def test_filling_leaves_all_but_stalls_at_the_level_of_the_seconds_and_a_longest_one_is_told():
    values = np.full(200, 100.0)
    values[50:60] = 0
    assert (filled(values, longest_s=20) == 100).all()
    values = np.tile([90.0, 110.0], 200)
    values[50:95] = 0
    assert filled(values, longest_s=60)[50:95] == pytest.approx(100, rel=0.11)
    assert [longest(np.array(one)) for one in ([True, False, True, True, False], [False])] == [2, 0]


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
