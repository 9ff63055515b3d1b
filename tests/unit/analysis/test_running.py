"""Running means and medians, compared with SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import median_filter, uniform_filter1d

from diskbench.analysis.running import running_mean, running_median

SIZES = [(1, 1), (2, 1), (5, 4), (11, 11), (12, 11), (300, 121), (20_000, 61)]


@pytest.mark.parametrize(("n", "size"), SIZES)
def test_the_values_are_those_of_scipy(n: int, size: int) -> None:
    y = np.random.default_rng(n).normal(3000, 400, size=n)
    assert running_mean(y, size) == pytest.approx(uniform_filter1d(y, size, mode="nearest"))
    for edge, theirs in (("edge", "nearest"), ("symmetric", "reflect")):
        assert (running_median(y, size, edge) == median_filter(y, size=size, mode=theirs)).all()
