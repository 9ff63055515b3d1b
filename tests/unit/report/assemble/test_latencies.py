import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.report.inside import counted, histogram, lognormal

from diskbench.fio.histogram import needed, value_at
from diskbench.report.assemble.latencies import MOST_STRETCHES, SHOWN, distributions, latency_map


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


def test_steps_come_in_order_and_read_before_write_and_of_a_repeated_one_the_last_round():
    places = [("b", 2, "read"), ("a", 1, "write"), ("a", 1, "read")]
    frames = [histogram({1: 1}, step=s, index=n, direction=way) for s, n, way in places]
    found = [(one.step, one.direction) for one in distributions(pl.concat(frames))]
    assert found == [("a", "read"), ("a", "write"), ("b", "read")]
    assert distributions(pl.DataFrame()) == ()
    rounds = [histogram({k * 100: k}, index=k, of_round=k) for k in (1, 3, 2)]
    [last] = distributions(pl.concat(rounds))
    assert (last.round, last.n) == (3, 3)


EDGES = [2.0**octave * (1 + part / 8) for octave in range(6, 36) for part in range(8)]
SEEN = st.tuples(st.integers(0, 5000), st.integers(0, len(EDGES) - 2))


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(st.dictionaries(SEEN, st.integers(1, 1000), min_size=1, max_size=60))
def test_every_io_is_in_one_cell_and_a_picture_never_has_too_many(found):
    rows = [(s, EDGES[p], EDGES[p + 1], n) for (s, p), n in sorted(found.items())]
    one = latency_map(counted(rows))
    if one is None:
        return
    cells = one.cells.to_dicts()
    total = sum(cell["per_s"] * (cell["end"] - cell["start"]) for cell in cells)
    assert total == pytest.approx(sum(found.values()))
    assert one.n == sum(found.values())
    assert len({cell["start"] for cell in cells}) <= MOST_STRETCHES
    assert len({cell["low"] for cell in cells}) <= 40
    assert all(0 <= cell["start"] < cell["end"] <= one.seconds for cell in cells)


def test_a_stretch_tells_median_and_highest_and_p99_only_with_enough_ios():
    rows = [(0, 1000, 1125, 90), (1, 1000, 1125, 90), (1, 8000, 9000, 10), (2, 1000, 1125, 299)]
    told = latency_map(counted(rows)).stretches.select("n", "p50", "p99", "highest").rows()
    assert told == [(90, 1125, None, 1125), (100, 1125, None, 9000), (299, 1125, 1125, 1125)]


def test_rounds_lie_after_each_other():
    rows = [(0, 1000, 1125, 1), (4, 1000, 1125, 1)]
    found = latency_map(pl.concat([counted(rows, index=k, of_round=k) for k in (1, 2)]))
    assert found.seconds == 10
    assert found.stretches["start"].to_list() == [0, 4, 5, 9]


def test_a_last_shorter_stretch_is_not_paler_and_nothing_counted_is_no_map():
    rows = [(second, 1000, 1125, 50) for second in range(MOST_STRETCHES * 2 - 1)]
    assert set(latency_map(counted(rows)).cells["per_s"].round(9)) == {50}
    assert latency_map(pl.DataFrame()) is None
    assert latency_map(counted([(0, 1000, 1125, 5)])) is None
