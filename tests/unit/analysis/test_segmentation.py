"""The segments of a series, compared with another implementation and with all divisions.

Running means and medians, compared with SciPy's.
"""

from itertools import combinations, islice, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruptures import KernelCPD
from scipy.ndimage import median_filter, uniform_filter1d

from diskbench.analysis import changes
from diskbench.analysis.segmentation import (
    Costs,
    best_fits,
    penalized_cuts,
    running_mean,
    running_median,
)


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
    y = np.random.default_rng(n).normal(3000, 400, size=n)
    assert running_mean(y, size) == pytest.approx(uniform_filter1d(y, size, mode="nearest"))
    for edge, theirs in (("edge", "nearest"), ("symmetric", "reflect")):
        assert (running_median(y, size, edge) == median_filter(y, size=size, mode=theirs)).all()
