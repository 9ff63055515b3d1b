import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.report.inside import histogram, lognormal

from diskbench.fio.histogram import needed, value_at
from diskbench.report.assemble.distribution import SHOWN, distributions


def test_quantiles_are_those_that_the_rows_have():
    counts = lognormal(20_000)
    [found] = distributions(histogram(counts))
    for share in (0.5, 0.9, 0.99, 0.999):
        assert found.quantile(share) == value_at(counts, share)


@given(st.integers(1, 200_000))
def test_a_quantile_is_shown_exactly_where_enough_ios_back_it(n):
    [found] = distributions(histogram({1_000_000: n}))
    for share in SHOWN:
        assert (found.quantile(share) is not None) == (n >= needed(share))


def test_the_highest_quantile_is_the_one_that_n_ios_bear_out():
    [found] = distributions(histogram({1_000_000: 2995}))
    assert found.highest**found.n == pytest.approx(0.05)
    assert found.highest >= 0.999
    assert math.isclose(found.shares()[-1], 1.0)


def test_total_latency_comes_before_completion_latency():
    both = pl.concat([histogram({100: 5}, kind="clat"), histogram({200: 5}, kind="lat")])
    [found] = distributions(both)
    assert found.latency_ns.tolist() == [200]
    assert not found.completion_only
    [alone] = distributions(histogram({100: 5}, kind="clat"))
    assert alone.completion_only


def test_of_a_repeated_step_the_last_round_is_told():
    rounds = [histogram({k * 100: k}, index=k, of_round=k) for k in (1, 3, 2)]
    [found] = distributions(pl.concat(rounds))
    assert (found.round, found.n) == (3, 3)


def test_steps_come_in_order_and_read_before_write():
    frames = [
        histogram({1: 1}, step="b", index=2),
        histogram({1: 1}, step="a", index=1, direction="write"),
        histogram({1: 1}, step="a", index=1, direction="read"),
    ]
    found = distributions(pl.concat(frames))
    assert [(one.step, one.direction) for one in found] == [
        ("a", "read"),
        ("a", "write"),
        ("b", "read"),
    ]
    assert np.all(np.diff([one.step_index for one in found]) >= 0)
    assert distributions(pl.DataFrame()) == ()
