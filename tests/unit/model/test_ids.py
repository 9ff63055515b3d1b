"""What an id or the beginning of one means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ulid import ULID

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


def test_a_shorter_end_and_what_fits_nothing_are_unknown_and_an_empty_text_means_nothing():
    for text in (A[-7:], "01zz"):
        with pytest.raises(UnknownName):
            meant(text, TWO, "lease")
    for text in ("", " ", "\t", "\n "):
        with pytest.raises(InvalidValue, match="is empty"):
            meant(text, TWO[:1], "lease")


def test_last_means_the_newest_and_counts_back():
    texts = ("last", " LAST ", "last~3", "last~", "last~-1", "lastly")
    assert [last_number(text) for text in texts] == [0, 0, 3, None, None, None]
    assert [meant(text, TWO, "lease").id for text in ("last", "LAST~1")] == [B, A]
    with pytest.raises(UnknownName):
        meant("last~2", TWO, "lease")


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
    made = ULID.from_timestamp(1_777_464_000.0)
    assert age(str(made).lower(), now=1_777_464_000.0 + 7500) == "2 h 05 min old"
    assert age("one") == ""
