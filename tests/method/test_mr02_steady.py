"""MR-2: five rounds, range within 20 % and slope within 10 % of the mean (SNIA SSS PTS 2.0.2,
definition 2.1.24), said of a step in words that do not pass a burst for what lasts."""

from tests.rigs.synthetic import Noise, flat, settling, steps, with_stalls

from diskbench.analysis.phases import step_phases

QUIET = Noise(sd=0.02)


def steadiness(values):
    return step_phases(values, values * 4096).steady


def test_below_five_minutes_nothing_is_said():
    short = steadiness(flat(100, 300, QUIET, seed=1))
    assert short.words() == "too short for five rounds of 60 s, so not judged"
    assert steadiness(flat(100, 301, QUIET, seed=1)).words() == "steady"


def test_past_a_cliff_a_step_is_steady_in_its_baseline_and_across_it_not_and_of_no_phase():
    series = steps([(3000, 600), (100, 400)], QUIET, seed=2)
    assert steadiness(series).words() == "steady (baseline)"
    found = steadiness(steps([(3000, 600), (100, 200)], QUIET, seed=3))
    assert found.words() == "not steady (its last five rounds of 60 s span phases)"
    assert found.kind is None


def test_a_disk_that_settles_is_steady_only_when_it_has_and_one_that_stalls_is_not():
    assert steadiness(settling(2500, 1000, 200, 400, QUIET, seed=4)).state == "not steady"
    assert steadiness(settling(2500, 1000, 200, 1800, QUIET, seed=4)).state == "steady"
    series = with_stalls(flat(100, 900, QUIET, seed=5), [(700, 760)])
    assert steadiness(series).state == "not steady"
