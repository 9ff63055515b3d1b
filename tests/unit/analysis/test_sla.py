"""The search for the highest rate within a latency target halves, ends, and tells its interval."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.report.made import row

from diskbench.analysis.sla import keeps, needed_ios, next_share, sla_of
from diskbench.model.spec import Search
from diskbench.model.threshold import Threshold

TARGET = Threshold.parse("p99 < 2ms")


def search(precision=0.02, target=TARGET):
    steps = tuple(f"probe-{n}" for n in range(1, 10))
    return Search(capacity="capacity", steps=steps, target=target, precision=precision, beyond=100)


def probed(step, iops, p99_ms, direction="read"):
    ns = None if p99_ms is None else p99_ms * 1e6
    return row(step, direction=direction, iops=iops, p99_ns=ns)


@pytest.mark.parametrize(
    ("target", "ios"),
    [("p99 < 2ms", 10_000), ("p99.9 < 2ms", 100_000), ("p50 < 2ms", 200), ("mean < 2ms", 10_000)],
)
def test_a_probe_lasts_until_100_ios_lie_beyond_its_percentile(target, ios):
    assert needed_ios(Threshold.parse(target), 100) == ios


def test_the_share_is_halved_between_what_kept_and_what_did_not_until_it_is_given_up():
    assert next_share(search(), [], 3000) == 0.5
    assert next_share(search(), [True], 3000) == 0.75
    assert next_share(search(), [True, False], 3000) == 0.625
    assert next_share(search(), [False, True], 3000) == 0.375
    assert next_share(search(), [False] * 5, 3000) is not None
    assert next_share(search(), [False] * 6, 3000) is None  # 1/64 of the capacity


@given(st.floats(0.02, 1.0), st.sampled_from([0.005, 0.02, 0.1]))
def test_it_ends_with_the_knee_in_an_interval_of_the_asked_width(knee, precision):
    kept, tried = [], []
    while (share := next_share(search(precision), kept, 3000)) is not None:
        tried.append(share)
        kept.append(share <= knee)
    low = max((s for s, did in zip(tried, kept, strict=True) if did), default=0.0)
    high = min((s for s, did in zip(tried, kept, strict=True) if not did), default=1.0)
    assert low <= knee <= high
    assert high - low <= precision * high or high <= precision
    assert len(tried) <= 14


def test_each_direction_or_the_one_that_is_named_has_to_keep_to_the_target_with_enough_ios():
    rows = [probed("x", 700, 1.0), probed("x", 300, 3.0, "write")]
    assert not keeps(TARGET, rows)
    assert keeps(Threshold.parse("read p99 < 2ms"), rows)
    assert not keeps(Threshold.parse("write p99 < 2ms"), rows)
    assert not keeps(TARGET, [probed("x", 700, None)])
    assert not keeps(TARGET, [])


def test_the_result_is_the_highest_that_kept_and_the_lowest_that_did_not_or_was_saturated():
    rows = [probed("capacity", 3000, 9.0), probed("probe-1", 1500, 1.0)]
    rows += [probed("probe-2", 2250, 5.0), probed("probe-3", 1875, 1.9)]
    found = sla_of(search(), rows)
    assert (found.iops, found.missed_iops, found.probes) == (1875, 2250, 3)
    rows = [probed("capacity", 2000, 9.0), probed("probe-1", 990, 1.0), probed("probe-2", 980, 1.0)]
    found = sla_of(search(), rows, {"probe-2"})
    # 1,500 were offered, and 980 served: that is no rate that it missed the target at.
    assert (found.iops, found.missed_iops) == (1000, 1500)


def test_no_probe_offers_more_than_lasts_without_credit():
    bursts = search().model_copy(update={"lasting_iops": 100.0})
    assert 0.75 < next_share(bursts, [True] * 4, capacity=125.0) < 0.8


def test_where_all_kept_the_capacity_is_the_limit_and_where_none_did_there_is_none():
    assert sla_of(search(), [probed("probe-1", 1500, 1.0)]).missed_iops is None
    assert sla_of(search(), [probed("probe-1", 1500, 9.0)]).iops == 0
    assert sla_of(search(), [probed("capacity", 1500, 9.0)]) is None
