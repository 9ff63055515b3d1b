"""The steady-state rule on each side of both limits; what no level says of a series: drift, dips,
two modes."""

import random

import numpy as np
import pytest
from benchmarks import rates_series
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.synthetic import Noise, flat, settling, steps

from diskbench.analysis.phases import step_phases
from diskbench.analysis.steady import ROUND_S, ROUNDS, last_rounds, steady
from diskbench.analysis.unsteady import dips, drift, two_latencies, two_modes, two_modes_of_runs
from diskbench.model.phase import Phase


@pytest.mark.parametrize(
    ("values", "is_steady"),
    [
        ([100, 100, 100, 100, 100], True),
        # excursion: (110 − 90)/100 = 0.20 exactly, line flat
        ([90, 110, 100, 110, 90], True),
        ([89.9, 110, 100.1, 110, 90], False),
        # slope: b = 2.5, 2.5·4/100 = 0.10 exactly
        ([95, 97.5, 100, 102.5, 105], True),
        ([105, 102.5, 100, 97.5, 95], True),
        ([94.9, 97.5, 100, 102.5, 105.1], False),
        ([105.1, 102.5, 100, 97.5, 94.9], False),
        # within the excursion, beyond the slope
        ([92, 96, 100, 104, 108], False),
        ([0, 0, 0, 0, 0], False),
    ],
)
def test_both_limits_count_and_are_inclusive(values, is_steady):
    assert (steady(values).state == "steady") is is_steady


def test_the_figures_are_fractions_of_the_mean_and_not_those_of_fio():
    found = steady([95, 97.5, 100, 102.5, 105])
    assert (found.excursion, found.slope) == (pytest.approx(0.10), pytest.approx(0.10))
    assert steady([105, 102.5, 100, 97.5, 95]).slope == pytest.approx(-0.10)
    # fio's iops_slope divides by the mean a second: 3,000 to 100 IOPS over 300 s gives 0.63 %.
    assert steady([3000 - 2900 * second / 299 for second in range(300)]).state == "not steady"
    for few in ([], [1.0]):
        with pytest.raises(ValueError, match="two rounds"):
            steady(few)


@given(st.lists(st.floats(1, 1e6), min_size=2, max_size=25), st.floats(0.001, 1000))
def test_the_verdict_does_not_depend_on_the_unit_and_turning_time_around_turns_the_slope(
    values, scale
):
    first, second = steady(values), steady([value * scale for value in values])
    assert first.excursion == pytest.approx(second.excursion)
    assert first.slope == pytest.approx(second.slope, abs=1e-9)
    assert steady(values).slope == pytest.approx(-steady(values[::-1]).slope, abs=1e-9)


def test_noise_passes_about_as_often_as_the_method_says():
    # method.md B1: stationary noise of CV 10 % passes one window with p = 0.30.
    generator = random.Random(1)
    windows = [[generator.gauss(1, 0.1) for _ in range(5)] for _ in range(4000)]
    passed = sum(steady(window).state == "steady" for window in windows)
    assert passed / 4000 == pytest.approx(0.30, abs=0.04)


# --- Unsteady


NOISE = Noise(0.05, 0.5)


def phases(values):
    return step_phases(values, values * 4096)


def test_a_rate_that_halves_slowly_drifts_and_one_that_settles_does_not():
    found = phases(settling(6000, 2000, 5000, 7200, NOISE, seed=1)).drifted
    assert found.first == pytest.approx(5450, rel=0.05)
    assert found.last == pytest.approx(3100, rel=0.05)
    assert phases(settling(400, 3000, 900, 7200, NOISE, seed=1)).drifted is None


def test_dips_have_a_period_and_a_share_or_are_none():
    found = phases(steps([(5000, 54), (1500, 6)] * 20, NOISE, seed=1)).dips
    assert (found.every_s, found.share) == (pytest.approx(60, abs=1), pytest.approx(0.1, abs=0.01))
    assert (found.usual, found.to) == (pytest.approx(5000, rel=0.05), pytest.approx(1500, rel=0.1))
    at_times = [(5000, 31), (1500, 4), (5000, 170), (1500, 4), (5000, 9), (1500, 4), (5000, 77)]
    assert dips(steps([*at_times, *reversed(at_times)], NOISE, seed=1)) is None


def test_a_baseline_after_a_burst_batches_and_pauses_are_no_second_rate():
    assert phases(steps([(3000, 600), (100, 600)], NOISE, seed=1)).modes is None
    values = steps([(400, 1), (0, 3)] * 200, Noise(0.02), seed=1)
    assert two_modes(values) is None
    assert dips(values) is None
    assert phases(steps([(400, 20), (0, 15)] * 20, Noise(0.02), seed=1)).modes is None
    assert two_modes(np.zeros(600)) is None


def test_two_rates_or_latencies_in_turn_are_told_of_seconds_and_runs_and_a_fall_is_none():
    found = phases(steps([(5000, 13), (2000, 9), (5000, 31), (2000, 17)] * 10, NOISE, seed=1)).modes
    assert (found.high, found.low) == (pytest.approx(5000, rel=0.05), pytest.approx(2000, rel=0.05))
    assert found.low_share == pytest.approx(26 / 70, abs=0.03)
    found = two_modes_of_runs([5000, 2500, 5000, 5000, 2500, 5000, 2500, 2500])
    assert (found.high, found.low, found.low_share) == (5000, 2500, 0.5)
    assert two_modes_of_runs([5000] * 4 + [2500] * 4) is None
    assert two_latencies(1e6, 700e6)
    assert not two_latencies(1e6, 30e6)
    assert not two_latencies(None, 700e6)


@pytest.mark.parametrize(("phi", "sd"), [(0.0, 0.15), (0.5, 0.15), (0.9, 0.3)])
def test_noise_about_one_level_is_none_of_them(phi, sd):
    noise = Noise(sd, phi)
    for seed in range(20):
        values = flat(5000, 600, noise, seed=seed)
        assert (drift(values), dips(values), two_modes(values)) == (None, None, None)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in rates_series.UNSTEADY if "false" in name])
def test_false_alarms_are_at_most_one_in_twenty(name):
    assert all(hits <= of / 20 for hits, of in rates_series.UNSTEADY[name]())


def test_one_phase_is_steady_only_where_the_rule_holds_of_its_rounds():
    level = [Phase(kind="level", start_s=0, end_s=ROUNDS * ROUND_S)]
    flat_rounds, rising = [1000.0] * ROUNDS, [1000.0 + 200.0 * at for at in range(ROUNDS)]
    for rounds, state in ((flat_rounds, "steady"), (rising, "not steady")):
        seconds = np.repeat(rounds, ROUND_S).tolist()
        assert last_rounds(seconds, level).state == state
