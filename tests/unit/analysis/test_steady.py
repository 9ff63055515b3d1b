"""The steady-state rule on each side of both limits, and the segments of a series."""

import random
from itertools import combinations, islice, pairwise

import numpy as np
import pytest
from benchmarks import rates_series
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rigs.synthetic import Noise, flat, settling, steps

from diskbench.analysis import changes
from diskbench.analysis.phases import step_phases
from diskbench.analysis.segmentation import (
    Costs,
    best_fits,
    penalized_cuts,
    running_mean,
    running_median,
)
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
def test_the_verdict_does_not_depend_on_the_unit_and_turning_time_turns_the_slope(values, scale):
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


def series(seed, n):
    generator = np.random.default_rng(seed)
    levels = generator.normal(8, 1, size=max(1, n // 40)).repeat(40)
    return np.concatenate([levels, np.full(n, levels[-1])])[:n] + generator.normal(0, 0.2, size=n)


def error(y, cuts):
    edges = [0, *cuts, y.size]
    return sum(float(((y[a:b] - y[a:b].mean()) ** 2).sum()) for a, b in pairwise(edges))


@pytest.mark.parametrize("seed", range(12))
def test_no_other_division_fits_better(seed):
    y, smallest = series(seed, 14), 2
    for count, cuts in enumerate(islice(best_fits(Costs(y, smallest)), 4)):
        others = [
            list(one)
            for one in combinations(range(1, y.size), count)
            if all(b - a >= smallest for a, b in pairwise([0, *one, y.size]))
        ]
        assert len(cuts) == count
        assert error(y, cuts) == pytest.approx(min(error(y, one) for one in others))


def as_ruptures_has_them(y, costs):
    """Check the best fits; ruptures' search."""
    from ruptures import KernelCPD

    search = KernelCPD(kernel="linear", min_size=costs.smallest).fit(y.reshape(-1, 1))
    most = min(6, y.size // costs.smallest - 1)
    theirs = [search.predict(n_bkps=count)[:-1] for count in range(1, most + 1)]
    assert list(islice(best_fits(costs), 1, most + 1)) == theirs
    return search


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("n", "smallest"), [(30, 3), (157, 12), (400, 2)])
def test_the_cuts_are_those_of_ruptures(seed, n, smallest):
    y = series(seed, n)
    costs = Costs(y, smallest)
    search = as_ruptures_has_them(y, costs)
    for penalty in (0.05, 0.5, 5.0):
        ours, other = penalized_cuts(costs, penalty), search.predict(pen=penalty)[:-1]
        # Theirs prunes as if segments might be of any length: its sum may be higher, never lower.
        assert error(y, ours) + penalty * len(ours) <= error(y, other) + penalty * len(other) + 1e-9


def plain_fits(y, smallest, most):
    """The least error with 0 … `most` cuts, one segment's end and one beginning at a time."""
    n = y.size
    least = [[np.inf] * (n + 1) for _ in range(most + 1)]
    for end in range(smallest, n + 1):
        least[0][end] = error(y[:end], [])
        for count in range(1, most + 1):
            for begin in range(smallest, end - smallest + 1):
                of_both = least[count - 1][begin] + error(y[begin:end], [])
                least[count][end] = min(least[count][end], of_both)
    return [one[n] for one in least]


def plain_penalized(y, penalty, smallest):
    """The least sum of error and penalties."""
    n = y.size
    least = [-penalty] + [np.inf] * n
    for end in range(smallest, n + 1):
        for begin in range(end - smallest + 1):
            least[end] = min(least[end], least[begin] + error(y[begin:end], []) + penalty)
    return least[n]


LEVELS = st.lists(st.sampled_from([0.0, 0.3, 5.0]) | st.floats(-9, 9), min_size=1, max_size=40)


@settings(deadline=None, max_examples=60)
@given(values=LEVELS, smallest=st.integers(1, 5), penalty=st.floats(1e-3, 20))
def test_both_searches_find_what_trying_one_by_one_finds(values, smallest, penalty):
    y = np.array(values)
    costs = Costs(y, smallest)
    fits = list(best_fits(costs))
    assert [len(cuts) for cuts in fits] == list(range(y.size // smallest))
    for cuts in (*fits, penalized_cuts(costs, penalty)):
        assert not cuts or min(b - a for a, b in pairwise([0, *cuts, y.size])) >= smallest
    some = fits[:4]
    found = [error(y, cuts) for cuts in some]
    assert found == pytest.approx(plain_fits(y, smallest, 3)[: len(some)], abs=1e-6)
    cuts = penalized_cuts(costs, penalty)
    if y.size >= smallest:
        least = plain_penalized(y, penalty, smallest)
        assert error(y, cuts) + penalty * len(cuts) == pytest.approx(least, abs=1e-6)


@pytest.mark.parametrize("most_kept", [0, 2048])
@pytest.mark.parametrize(("n", "smallest"), [(700, 12), (333, 2), (130, 70), (257, 63)])
def test_the_blocks_of_costs_may_end_anywhere(n, smallest, most_kept, monkeypatch):
    monkeypatch.setattr("diskbench.analysis.segmentation._MOST_KEPT", most_kept)
    monkeypatch.setattr("diskbench.analysis.segmentation._MOST_AT_ONCE", 17 * n)
    y = series(5, n)
    costs = Costs(y, smallest)
    as_ruptures_has_them(y, costs)
    assert costs.error(penalized_cuts(costs, 1e9)) == pytest.approx(error(y, []))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.integers(20, 120), st.floats(0, 3), st.floats(0.01, 1))
def test_many_cuts_are_left_out_only_where_they_explain_too_little(seed, period, depth, noise):
    y = np.where(np.arange(500) // period % 2, depth, 0.0)
    y = y + np.random.default_rng(seed).normal(0, noise, size=y.size)
    with pytest.MonkeyPatch.context() as patch:
        found = changes.segment(y, 12)
        patch.setattr(changes, "_least_error_of_many", lambda *_: 0.0)  # never leaves them out
        assert changes.segment(y, 12) == found


def test_a_short_or_constant_series_is_one_segment():
    costs = Costs(np.arange(5.0), 3)
    assert penalized_cuts(costs, 1e-9) == []
    assert list(best_fits(costs)) == [[]]
    assert list(best_fits(Costs(np.arange(2.0), 3))) == []
    assert penalized_cuts(Costs(np.full(200, 9.2), 12), 1e-9) == []


SIZES = [(1, 1), (2, 1), (5, 4), (11, 11), (12, 11), (300, 121), (20_000, 61)]


@pytest.mark.parametrize(("n", "size"), SIZES)
def test_the_values_are_those_of_scipy(n, size):
    from scipy.ndimage import median_filter, uniform_filter1d

    y = np.random.default_rng(n).normal(3000, 400, size=n)
    assert running_mean(y, size) == pytest.approx(uniform_filter1d(y, size, mode="nearest"))
    for edge, theirs in (("edge", "nearest"), ("symmetric", "reflect")):
        assert (running_median(y, size, edge) == median_filter(y, size=size, mode=theirs)).all()
