"""MR-10: percentiles are of summed counts, within 1/128, and only where enough I/Os back them."""

import random

import pytest

from diskbench.fio.histogram import bucket_index, bucket_middle_ns, merge, value_at


def counted(values):
    found = {}
    for value in values:
        middle = bucket_middle_ns(bucket_index(value))
        found[middle] = found.get(middle, 0) + 1
    return found


def job(seed, count, median_ns):
    draw = random.Random(seed)
    return [int(median_ns * draw.lognormvariate(0, 0.7)) for _ in range(count)]


@pytest.mark.parametrize("fraction", [0.5, 0.9, 0.99, 0.999])
def test_merged_jobs_have_the_quantiles_of_all_their_ios(fraction):
    fast, slow = job(1, 9000, 200_000), job(2, 1000, 9_000_000)
    found = value_at(merge([counted(fast), counted(slow)]), fraction)
    exact = sorted(fast + slow)[int(fraction * 10_000 - 1e-9)]
    assert found == pytest.approx(exact, rel=1 / 128 + 1e-3)


def test_a_mean_of_quantiles_is_another_number():
    fast, slow = job(1, 9000, 200_000), job(2, 1000, 9_000_000)
    mean = (value_at(counted(fast), 0.9) + value_at(counted(slow), 0.9)) / 2
    assert mean > 2 * value_at(merge([counted(fast), counted(slow)]), 0.9)
