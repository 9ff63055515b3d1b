"""What an id or the beginning of one means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.ids import Known, age, last_number, meant, several, short

A, B = "01kq8z6rj0aaaaaaaaaaaaaaa1", "01kq8z6rj1bbbbbbbbbbbbbbb1"
TWO = [Known(A, "lease", where="aws us-east-1"), Known(B, "lease", where="lab")]
IDS = st.text("01ab", min_size=1, max_size=6)


def test_a_beginning_or_the_short_form_means_the_only_thing_that_it_fits():
    assert meant(f" {A[:10].upper()} ", TWO, "lease").id == A
    assert short(A) == A[-8:]
    assert meant(short(A).upper(), TWO, "lease").id == A
    assert short(A) != short(B)


def test_a_beginning_of_several_lists_id_kind_place_and_age_but_not_of_all():
    with pytest.raises(InvalidValue) as refused:
        meant("01kq", TWO, "lease")
    for told in (f"{A}  lease, aws us-east-1, ", f"{B}  lease, lab, ", " old"):
        assert told in refused.value.message
    found = [Known(f"01a{n:02}", "run") for n in range(30)]
    assert "and others" in several("01a", found).message
    assert len(several("01a", found).message.splitlines()) < 12


def test_an_end_that_is_shorter_and_what_fits_nothing_are_unknown():
    with pytest.raises(UnknownName):
        meant(A[-7:], TWO, "lease")
    with pytest.raises(UnknownName):
        meant("01zz", TWO, "lease")


COUNTED = {"last": 0, " LAST ": 0, "last~3": 3, "last~": None, "last~-1": None, "lastly": None}


@pytest.mark.parametrize(("text", "number"), COUNTED.items())
def test_last_counts_back(text, number):
    assert last_number(text) == number


def test_last_means_the_newest_and_counts_back():
    assert [meant(text, TWO, "lease").id for text in ("last", "LAST~1")] == [B, A]
    with pytest.raises(UnknownName):
        meant("last~2", TWO, "lease")


@pytest.mark.parametrize("text", ["", " ", "\t", "\n "])
def test_an_empty_text_means_nothing_even_of_one(text):
    with pytest.raises(InvalidValue, match="is empty"):
        meant(text, TWO[:1], "lease")


def test_a_thing_with_its_parts_or_with_what_stands_for_the_same_is_one():
    known = [Known("01a", "trial"), Known("01ab", "run", part_of=("01a",))]
    assert meant("01", known, "run").id == "01a"
    assert meant("01ab", known, "run").id == "01ab"
    known = [Known("01a", "run", means="lease"), Known("01b", "run", means="lease")]
    assert meant("01", known, "run").stands_for == "lease"


@given(st.lists(IDS, unique=True, min_size=1), st.text("01ab \t", max_size=6))
def test_it_is_one_thing_or_a_refusal_and_never_another_thing(ids, text):
    known = [Known(one, "lease") for one in ids]
    wanted = text.strip()
    try:
        found = meant(text, known, "lease")
    except (InvalidValue, UnknownName):
        assert wanted not in ids
        assert sum(one.startswith(wanted) for one in ids) != 1 or not wanted
    else:
        assert wanted
        assert found.id == wanted or [o for o in ids if o.startswith(wanted)] == [found.id]


def test_the_age_is_that_of_the_id():
    from ulid import ULID

    made = ULID.from_timestamp(1_777_464_000.0)
    assert age(str(made).lower(), now=1_777_464_000.0 + 7500) == "2 h 05 min old"
    assert age("one") == ""
