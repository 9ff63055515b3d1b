from hypothesis import given
from hypothesis import strategies as st

from diskbench.report.terminal.screen import hanging, sparkline


def test_further_lines_hang_below_the_first():
    assert hanging("name  ", "one two three four five six", width=26) == (
        "name  one two three four\n      five six"
    )


def test_a_path_is_never_broken():
    path = "/var/" + "long-" * 20
    assert path in hanging("at  ", f"it lies in {path}", width=40).split()


def test_a_label_without_text_stands_alone():
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


def test_a_fall_to_half_looks_like_half():
    assert sparkline([100, 100, 50, 50]) == "██▅▅"


def test_nothing_at_all_is_flat_or_empty():
    assert sparkline([0, 0, 0]) == "▁▁▁"
    assert sparkline([]) == ""


def test_many_values_are_averaged_in_groups():
    assert sparkline([10] * 50 + [0] * 50, width=4) == "██▁▁"
