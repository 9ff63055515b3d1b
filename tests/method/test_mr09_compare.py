"""MR-9: ratios round by round, their interval and test; 5 % is the least that counts."""

import math
import random

import pytest
from benchmarks.method_statistics import order

from diskbench.analysis.compare import Pair, adjusted, compare, judge


@pytest.mark.slow
def test_a_tenth_less_is_found_in_turn():
    (found,) = [row for row in order(25) if row[0].startswith("−10 %")]
    _, value, least, _, _ = found
    assert value >= least


@pytest.mark.slow
def test_of_a_matrix_of_identical_cells_hardly_any_is_called_different():
    """Forty comparisons of nothing with nothing: without the adjustment two would be by chance."""
    called = 0
    for matrix in range(10):
        draw = random.Random(matrix)
        found = [
            compare(
                [
                    Pair(
                        math.exp(draw.gauss(0, 0.1)), math.exp(draw.gauss(0, 0.1)), f"a{i}", f"b{i}"
                    )
                    for i in range(10)
                ]
            )
            for _ in range(40)
        ]
        q = adjusted([one.p for one in found if one.p is not None])
        called += sum(judge(one, each) == "differs" for one, each in zip(found, q, strict=True))
    assert called <= 4  # of 400


@pytest.mark.parametrize(("effect", "finding"), [(0.949, "differs"), (0.951, "small")])
def test_five_percent_is_where_a_difference_counts(effect, finding):
    pairs = [
        Pair(100 + i, (100 + i) * effect * (1 + (i - 4.5) / 500), i, -i - 1) for i in range(10)
    ]
    one = compare(pairs)
    assert judge(one, one.p) == finding
