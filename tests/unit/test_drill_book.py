"""The drill book: its decorator, and that docs/evidence/drills.md shows what it holds."""

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


def test_a_page_has_a_heading_for_each_area_and_says_what_runs_when():
    other = dataclasses.replace(ROW, area="lost stores", name="full")
    text = book.page([ROW, LATER, other])
    assert "3 drills with 7 cases; `script/test` runs 2 of them" in text
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["## Lost hosts", "## Lost stores"]
    assert "\na cut (3)\n" in text
    assert "\na long cut *\n" in text


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
def test_the_page_of_drills_shows_the_book_as_it_is():
    wanted = book.page(list(book.drills()))
    assert book.PAGE.read_text() == wanted, "run python -m tests.drills.book"
