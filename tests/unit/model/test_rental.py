"""Whether what carries a lease's tags was made for it."""

import pytest

from diskbench.engine.cleanup.named_ids import is_same_owner
from diskbench.model.rental import Which, is_named_for, was_made

NAME = "diskbench-one-disk-0"


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        (NAME, True), ("diskbench-one-machine", True), ("diskbench-one-", False),
        ("diskbench-one", False), ("diskbench-one-disk 0", False),
        ("diskbench-oneself-disk", False), ("x-diskbench-one-disk", False),
        ("prod-database", False), ("", False), (None, False),
    ],
)  # fmt: skip
def test_a_name_is_that_of_the_lease_and_a_kind(name, ours):
    assert is_named_for("one", name) is ours


def test_an_id_counts_where_it_was_written_down_or_named():
    made = ("volume vol-1", "instance i-1")
    assert was_made("volume vol-1", made)
    assert not was_made("volume vol-2", made)
    assert was_made("key-pair k", made)
    assert was_made("volume vol-2", ())
    which = Which("one", copied=("volume vol-2",))
    assert which.takes("prod-database", "volume vol-2")
    assert not which.takes(NAME, "volume vol-1")


@pytest.mark.parametrize(
    ("tag", "owner", "same"),
    [
        ("alice@desk", "alice@desk", True), ("alice_desk", "Alice@desk", True),
        ("bob@desk", "alice@desk", False), ("", "alice@desk", False), (None, "alice@desk", False),
    ],
)  # fmt: skip
def test_an_owner_is_known_by_what_clouds_make_of_it(tag, owner, same):
    assert is_same_owner(tag, owner) is same
