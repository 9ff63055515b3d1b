"""The drill book: its decorator, its table, and that docs/safety.md shows what it holds."""

from __future__ import annotations

import dataclasses

import pytest
from tests.drills import book

ROW = book.Drill("lost hosts", "a cut", "SSH is cut", "nothing is lost", cases=3, quick=True)
LATER = dataclasses.replace(ROW, name="a long cut", cases=1, quick=False)


def marks(test) -> list[str]:
    return [mark.name for mark in test.pytestmark]


def test_a_quick_drill_is_left_to_script_test_and_a_long_one_to_all():
    def test_a_cut() -> None: ...

    def test_a_long_cut() -> None: ...

    assert marks(book.drill(done="a", holds="b")(test_a_cut)) == ["drill", "slow"]
    quick = book.drill(done="a", holds="b", quick=False)(test_a_long_cut)
    assert marks(quick) == ["drill", "slow", "thorough"]


@pytest.mark.parametrize("words", ["", " ", "a | b", "two\nlines"])
def test_words_that_would_break_the_table_are_refused(words):
    with pytest.raises(ValueError, match="in one line"):
        book.drill(done=words, holds="b")
    with pytest.raises(ValueError, match="in one line"):
        book.drill(done="a", holds=words)


def test_a_table_has_a_heading_for_each_area_and_says_what_runs_when():
    other = dataclasses.replace(ROW, area="lost stores", name="full")
    text = book.table([ROW, LATER, other])
    assert text.startswith("3 drills with 7 cases; `script/test` runs 2 of them")
    assert [line for line in text.splitlines() if line.startswith("### ")] == [
        "### Lost hosts",
        "### Lost stores",
    ]
    assert "| a cut | SSH is cut | nothing is lost | 3 |" in text
    assert "| a long cut (`--all`) | SSH is cut | nothing is lost | 1 |" in text


def test_a_page_keeps_what_stands_around_its_table_and_is_the_same_the_second_time():
    text = f"# Safety\n\n{book.BEGIN}\nof yesterday\n{book.END}\n\nThe end.\n"
    made = book.page(text, [ROW])
    assert made.startswith(f"# Safety\n\n{book.BEGIN}\n1 drills with 3 cases")
    assert made.endswith(f"{book.END}\n\nThe end.\n")
    assert "of yesterday" not in made
    assert book.page(made, [ROW]) == made


@pytest.mark.parametrize("text", ["", book.BEGIN, f"{book.END} {book.BEGIN}"])
def test_a_page_without_a_place_for_the_table_is_refused(text):
    with pytest.raises(ValueError, match="needs the lines"):
        book.page(text, [ROW])


@pytest.mark.slow
def test_every_test_among_the_drills_is_in_the_book():
    bare = [
        f"{module.__name__}.{test.__name__}"
        for _, module in book.modules()
        for test in book.tests_of(module)
        if book.entry_of(test) is None
    ]
    assert bare == [], "give them the decorator of tests/drills/book.py"


@pytest.mark.slow
def test_no_two_drills_have_one_name():
    names = [one.name for one in book.drills()]
    assert sorted(names) == sorted(set(names))


@pytest.mark.slow
def test_the_safety_page_shows_the_book_as_it_is():
    text = book.PAGE.read_text()
    assert text == book.page(text, list(book.drills())), "run python -m tests.drills.book"


@pytest.mark.slow
def test_there_are_a_hundred_drills():
    assert len(list(book.drills())) >= 100
