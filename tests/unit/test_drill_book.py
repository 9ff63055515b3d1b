"""That docs/evidence/drills.md shows what tests/drills holds."""

import pytest
from tests.drills import book

pytestmark = pytest.mark.slow


def test_no_two_drills_have_one_name():
    names = [one.name for one in book.drills()]
    assert sorted(names) == sorted(set(names))


def test_the_page_of_drills_shows_the_book_as_it_is():
    wanted = book.page(list(book.drills()))
    assert book.PAGE.read_text() == wanted, "run python -m tests.drills.book"
