import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.report.charts.measure import decades, wants_log


@pytest.mark.parametrize(
    ("values", "log"),
    [
        ([100, 10_000], False),
        ([99, 10_000], True),
        ([0, 0.0], False),
        ([], False),
        ([0, 50, 5000], False),
    ],
)
def test_more_than_two_decades_call_for_a_logarithmic_axis(values, log):
    assert wants_log(values) is log


@given(st.lists(st.floats(1e-3, 1e12), min_size=1))
def test_decades_enclose_all_values(values):
    marks = decades(values)
    assert marks[0] <= min(values) * 1.0001
    assert marks[-1] >= max(values) * 0.9999
    assert len(marks) >= 2
