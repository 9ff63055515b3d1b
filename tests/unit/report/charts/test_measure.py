import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.report.charts.measure import decades, wants_log, whole_seconds


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


@given(st.integers(1, 100_000))
def test_marks_of_seconds_are_whole_and_few(n):
    marks = whole_seconds(n)
    assert all(isinstance(mark, int) and 0 < mark <= n for mark in marks)
    assert 1 <= len(marks) <= 6
