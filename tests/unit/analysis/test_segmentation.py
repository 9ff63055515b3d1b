"""The segments of a series, compared with another implementation and with all divisions."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from ruptures import KernelCPD

from diskbench.analysis.segmentation import best_cuts, penalized_cuts


def series(seed: int, n: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    levels = generator.normal(8, 1, size=max(1, n // 40)).repeat(40)
    return np.concatenate([levels, np.full(n, levels[-1])])[:n] + generator.normal(0, 0.2, size=n)


def error(y: np.ndarray, cuts: list[int]) -> float:
    return sum(
        float(((y[a:b] - y[a:b].mean()) ** 2).sum()) for a, b in pairwise([0, *cuts, y.size])
    )


@pytest.mark.parametrize("seed", range(12))
def test_no_other_division_fits_better(seed: int) -> None:
    y, smallest = series(seed, 14), 2
    for count, cuts in enumerate(best_cuts(y, 3, smallest)):
        others = [
            list(one)
            for one in combinations(range(1, y.size), count)
            if all(b - a >= smallest for a, b in pairwise([0, *one, y.size]))
        ]
        assert len(cuts) == count
        assert error(y, cuts) == pytest.approx(min(error(y, one) for one in others))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("n", "smallest"), [(30, 3), (157, 12), (400, 2)])
def test_the_cuts_are_those_of_ruptures(seed: int, n: int, smallest: int) -> None:
    y = series(seed, n)
    search = KernelCPD(kernel="linear", min_size=smallest).fit(y.reshape(-1, 1))
    most = min(6, n // smallest - 1)
    theirs = [search.predict(n_bkps=count)[:-1] for count in range(1, most + 1)]
    assert best_cuts(y, most, smallest)[1:] == theirs
    for penalty in (0.05, 0.5, 5.0):
        ours, other = penalized_cuts(y, penalty, smallest), search.predict(pen=penalty)[:-1]
        # Theirs prunes as if segments might be of any length: its sum may be higher, never lower.
        assert error(y, ours) + penalty * len(ours) <= error(y, other) + penalty * len(other) + 1e-9


def test_a_short_series_is_one_segment() -> None:
    assert penalized_cuts(np.arange(5.0), 1e-9, 3) == []
    assert best_cuts(np.arange(5.0), 0, 3) == [[]]
    with pytest.raises(ValueError, match="segments of 3"):
        best_cuts(np.arange(5.0), 1, 3)


def test_a_constant_series_has_no_cut() -> None:
    assert penalized_cuts(np.full(200, 9.2), 1e-9, 12) == []
