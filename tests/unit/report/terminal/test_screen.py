import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.report.terminal.screen import hanging, sparkline


def test_further_lines_hang_below_the_first_and_no_path_is_broken():
    told = hanging("name  ", "one two three four five six", width=26)
    assert told == "name  one two three four\n      five six"
    path = "/var/" + "long-" * 20
    assert path in hanging("at  ", f"it lies in {path}", width=40).split()
    assert hanging("notes  ", "") == "notes"


words = st.lists(st.text("abc-", min_size=1, max_size=12), min_size=1, max_size=40)


@given(words, st.integers(40, 120))
def test_words_are_kept_in_order_and_lines_fit(found, width):
    folded = hanging("label  ", " ".join(found), width=width)
    assert folded.split() == ["label", *found]
    assert max(map(len, folded.splitlines())) <= width


rates = st.lists(st.floats(0, 1e9), max_size=200)


@given(rates, st.integers(1, 60))
def test_it_is_never_wider_than_asked(values, width):
    assert len(sparkline(values, width=width)) == min(len(values), width)


@given(st.lists(st.floats(1, 1e9), min_size=1, max_size=20))
def test_the_highest_value_is_a_full_block(values):
    assert "█" in sparkline(values)


@pytest.mark.parametrize(
    ("values", "blocks"),
    [([100, 100, 50, 50], "██▅▅"), ([10] * 50 + [0] * 50, "██▁▁"), ([0, 0, 0], "▁▁▁"), ([], "")],
    ids=["half", "many are averaged", "flat", "nothing"],
)
def test_blocks_are_as_high_as_their_values(values, blocks):
    assert sparkline(values, width=4) == blocks
