"""Sizes that are worked out in a job file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.fio.numbers import evaluate, is_arithmetic
from diskbench.units import GIB


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("30g/2", 15 * GIB),
        ("(4k*8)", 32768),
        ("2^20", 1048576),
        ("(1g+512m)/2", 805306368),
        ("7/2*2", 7),
        ("10%4", 2),
        ("1m-4k", 1044480),
    ],
)
def test_a_value_is_worked_out_as_its_author_wrote_it(text, value):
    assert evaluate(text) == value


@pytest.mark.parametrize(
    "text", ["1/0", "4k-8k", "", "2^64", "9^9^9^9", "(1", "a*2", "1g*x", "1.5*2"]
)
def test_what_is_no_number_of_63_bits_stays_unread(text):
    assert evaluate(text) is None


@pytest.mark.parametrize("text", ["4k", "10%", "4k-64k", "+4k", "$ncpus"])
def test_fios_own_forms_are_not_arithmetic(text):
    assert not is_arithmetic(text)


@given(st.text(alphabet="0123456789kmgt()+*/%^- ", max_size=40))
def test_any_text_gives_a_number_or_none_at_once(text):
    value = evaluate(text)
    assert value is None or 0 <= value < 2**63
