"""A lease is read back from a machine's notes as it was written, and from nobody else's."""

from hypothesis import given
from hypothesis import strategies as st

from diskbench.model.rental import Claim
from diskbench.providers.vsphere.requests import mark, notes


def claim(**more):
    told = {"lease_id": "01abc", "expires_at": 1.8e9, "owner": "me", "version": "0.1"}
    return Claim(**(told | more))


def test_lease_and_expiry_come_back():
    found = mark(notes(claim()))
    assert (found.lease_id, found.expires_at) == ("01abc", 1.8e9)


@given(st.text())
def test_no_owner_can_write_another_lease(owner):
    assert mark(notes(claim(owner=owner))).lease_id == "01abc"


@given(st.text())
def test_any_notes_can_be_read(text):
    found = mark(text)
    assert found is None or "diskbench-lease" in text


def test_a_lease_that_is_no_plain_name_is_none():
    assert mark("diskbench-lease: ../../etc") is None
    assert mark(None) is None


def test_an_expiry_that_cannot_be_read_is_not_guessed():
    assert mark("diskbench-lease: one\ndiskbench-expires: soon").expires_at is None
