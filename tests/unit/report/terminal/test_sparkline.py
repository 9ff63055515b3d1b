from hypothesis import given
from hypothesis import strategies as st

from diskbench.report.terminal.sparkline import sparkline

rates = st.lists(st.floats(0, 1e9), max_size=200)


@given(rates, st.integers(1, 60))
def test_it_is_never_wider_than_asked(values, width):
    assert len(sparkline(values, width=width)) == min(len(values), width)


@given(st.lists(st.floats(1, 1e9), min_size=1, max_size=20))
def test_the_highest_value_is_a_full_block(values):
    assert "█" in sparkline(values)


def test_a_fall_to_half_looks_like_half():
    assert sparkline([100, 100, 50, 50]) == "██▅▅"


def test_nothing_at_all_is_flat_or_empty():
    assert sparkline([0, 0, 0]) == "▁▁▁"
    assert sparkline([]) == ""


def test_many_values_are_averaged_in_groups():
    assert sparkline([10] * 50 + [0] * 50, width=4) == "██▁▁"
