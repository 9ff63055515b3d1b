from hypothesis import given
from hypothesis import strategies as st

from diskbench.report.terminal.hanging import hanging


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
