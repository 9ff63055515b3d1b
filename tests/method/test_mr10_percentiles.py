"""MR-10: percentiles are of summed counts, within 1/128, and only where enough I/Os back them."""

import random

import pytest
from tests.rigs.fio_reports import bucket_index

from diskbench.fio.histogram import bucket_middle_ns, merge, value_at


def counted(values):
    found = {}
    for value in values:
        middle = bucket_middle_ns(bucket_index(value))
        found[middle] = found.get(middle, 0) + 1
    return found


def job(seed, count, median_ns):
    draw = random.Random(seed)
    return [int(median_ns * draw.lognormvariate(0, 0.7)) for _ in range(count)]


def test_merged_jobs_have_the_quantiles_of_all_their_ios_which_no_mean_of_quantiles_is():
    fast, slow = job(1, 9000, 200_000), job(2, 1000, 9_000_000)
    merged = merge([counted(fast), counted(slow)])
    for fraction in (0.5, 0.9, 0.99, 0.999):
        exact = sorted(fast + slow)[int(fraction * 10_000 - 1e-9)]
        assert value_at(merged, fraction) == pytest.approx(exact, rel=1 / 128 + 1e-3)
    mean = (value_at(counted(fast), 0.9) + value_at(counted(slow), 0.9)) / 2
    assert mean > 2 * value_at(merged, 0.9)
