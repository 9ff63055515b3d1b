import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.analysis.falls import LEVEL, fall_of


def test_the_fall_of_pd_standard_is_found_in_its_fifth_run():
    found = fall_of([300.0, 310.0, 295.0, 305.0, 80.0, 82.0, 79.0])
    assert found is not None
    assert (found.index + 1, found.before, found.after) == (5, 295.0, 82.0)


def test_a_noisy_disk_that_falls_is_found_where_it_stays_down():
    noisy = [1750, 2150, 1330, 2660, 2700, 1400, 2260, 1470, 151, 135]
    assert fall_of(noisy).index + 1 == 9


@pytest.mark.parametrize(
    "values",
    [
        [],
        [300.0, 80.0],
        [300.0, 310.0, 305.0, 80.0],  # one run may be an accident
        [300.0, 310.0, 80.0, 82.0, 300.0],  # it came back
        [100.0, 90.0, 80.0, 70.0, 60.0, 51.0],  # a slope is no fall
        [0.0, 0.0, 0.0, 0.0],
        [80.0, 82.0, 300.0, 310.0],
    ],
)
def test_no_fall_is_found_where_there_is_none(values):
    assert fall_of(values) is None


@given(
    st.lists(st.floats(100, 200), min_size=2, max_size=20),
    st.lists(st.floats(0, 49), min_size=2, max_size=20),
)
def test_whatever_falls_below_half_is_found_at_its_run(high, low):
    found = fall_of([*high, *low])
    assert found is not None
    assert found.after < LEVEL * found.before
    # a deeper fall within the low part may be the sharper one
    assert found.index >= len(high)
