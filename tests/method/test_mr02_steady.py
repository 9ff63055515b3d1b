"""MR-2: five rounds, range within 20 % and slope within 10 % of the mean (SNIA SSS PTS 2.0.2,
definition 2.1.24), said of a step in words that do not pass a burst for what lasts."""

import numpy as np
import pytest
from tests.rigs.synthetic import Noise, flat, settling, steps, with_stalls

from diskbench.analysis.phases import step_phases

QUIET = Noise(sd=0.02)


def steadiness(values):
    return step_phases(values, values * 4096).steady


def rounds(*levels: float):
    """Minutes at these levels, after a first that is like the last."""
    return np.repeat(np.array([*levels, levels[-1]], dtype=float), 60)[:-59]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("levels", "state"),
    [
        ((100, 100, 100, 100, 100), "steady"),
        ((91, 109, 100, 109, 91), "steady"),
        ((88, 110, 100, 110, 88), "not steady"),  # range 22 % of the mean
        ((95.5, 97.5, 100, 102.5, 104.5), "steady"),
        ((93, 97, 100, 103, 107), "not steady"),  # slope 14 %
        ((107, 103, 100, 97, 93), "not steady"),
    ],
)
def test_the_last_five_minutes_are_judged_on_both_sides_of_both_limits(levels, state):
    found = steadiness(rounds(*levels))
    assert found.state == state
    assert found.round_s == 60


def test_below_five_minutes_nothing_is_said():
    short = steadiness(flat(100, 300, QUIET, seed=1))
    assert short.words() == "too short for five rounds of 60 s, so not judged"
    assert steadiness(flat(100, 301, QUIET, seed=1)).words() == "steady"


def test_a_step_that_ends_past_the_cliff_is_steady_in_its_baseline():
    series = steps([(3000, 600), (100, 400)], QUIET, seed=2)
    assert steadiness(series).words() == "steady (baseline)"


def test_rounds_across_a_cliff_are_not_steady_and_named_after_no_phase():
    found = steadiness(steps([(3000, 600), (100, 200)], QUIET, seed=3))
    assert found.words() == "not steady (its last five rounds of 60 s span phases)"
    assert found.kind is None


def test_a_disk_that_settles_is_steady_only_when_it_has():
    assert steadiness(settling(2500, 1000, 200, 400, QUIET, seed=4)).state == "not steady"
    assert steadiness(settling(2500, 1000, 200, 1800, QUIET, seed=4)).state == "steady"


def test_a_stall_of_a_minute_is_no_steady_state():
    series = with_stalls(flat(100, 900, QUIET, seed=5), [(700, 760)])
    assert steadiness(series).state == "not steady"
