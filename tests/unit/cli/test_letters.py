import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.cli.terminal import nearest, printable
from diskbench.report.terminal.screen import sparkline


def printed(text, encoding):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    with printable(stream):
        stream.write(text)
        stream.flush()
    assert stream.errors == "strict"
    return raw.getvalue().decode(encoding)


def test_a_terminal_shows_the_letters_that_it_has_and_else_the_nearest():
    assert printed("2 × 5 µs – «é» → 3", "ascii") == "2 x 5 us - ?e? > 3"
    assert printed("5 µs – é", "iso-8859-1") == "5 µs - é"
    blocks = sparkline(range(8))
    assert len(set(nearest(blocks))) == 8


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_encodings_with_all_letters_are_left_alone(encoding):
    assert printed("5 µs – █", encoding).removeprefix("\ufeff") == "5 µs – █"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_whatever_a_label_holds_can_be_printed(text):
    assert nearest(text).isascii()
    printed(text, "ascii")
