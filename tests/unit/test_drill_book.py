"""The drill book: its decorator, and that docs/evidence/drills.md shows what it holds."""

from __future__ import annotations

import pytest
from tests.drills import book


def marks(test) -> list[str]:
    return [mark.name for mark in test.pytestmark]


def test_a_quick_drill_is_left_to_script_test_and_a_long_one_to_all():
    def test_a_cut() -> None: ...

    def test_a_long_cut() -> None: ...

    assert marks(book.drill(done="a", holds="b")(test_a_cut)) == ["drill", "slow"]
    quick = book.drill(done="a", holds="b", quick=False)(test_a_long_cut)
    assert marks(quick) == ["drill", "slow", "thorough"]


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
