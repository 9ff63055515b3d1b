"""What a cloud's monitoring says of a step: only of the periods that lie wholly in it."""

from hypothesis import given
from hypothesis import strategies as st

from diskbench.model.expectation import LimitName
from diskbench.model.metrics import CloudMetric, covers, exceeded_within


def series(
    *values: float, of: str = "vol-1", limit: LimitName | None = "disk-iops", begin: int = 0
) -> CloudMetric:
    points = tuple((begin + 60 * number, value) for number, value in enumerate(values))
    return CloudMetric(
        name="Check", of=of, statistic="Maximum", period_s=60, limit=limit,
        reached_at=1.0 if limit else None, points=points,
    )  # fmt: skip


def test_a_period_counts_once_when_it_lies_wholly_in_the_step_and_has_a_limit():
    found = exceeded_within([series(1, 1, 0, 1, 1)], 30.0, 270.0)
    assert (found.seconds, found.counted_s) == ({"disk-iops": 120.0}, 180.0)
    found = exceeded_within([series(1, 0, 0), series(1, 1, 0, of="vol-2")], 0.0, 180.0)
    assert found.seconds == {"disk-iops": 120.0}
    assert exceeded_within([series(1, 1)], 1.0, 119.0) is None
    assert exceeded_within([series(1, 1, limit=None)], 0.0, 120.0) is None


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=9), st.floats(0, 600))
def test_no_more_is_counted_than_the_step_lasted(values, finished):
    found = exceeded_within([series(*values)], 0.0, finished)
    if found is not None:
        assert found.counted_s is not None
        assert found.seconds["disk-iops"] <= found.counted_s <= finished


def test_waiting_ends_when_every_series_has_the_last_whole_period():
    assert not covers([], 100.0)
    assert not covers([series(), series(of="vol-2")], 100.0)
    assert not covers([series(1), series(1, 1, of="vol-2")], 130.0)
    seldom = series(1, limit=None)
    assert covers([series(1, 1), series(1, 1, of="vol-2"), series(of="vol-3"), seldom], 130.0)
