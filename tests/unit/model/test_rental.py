"""Whether what carries a lease's tags was made for it."""

from diskbench.engine.cleanup.named_ids import is_same_owner
from diskbench.model.rental import Which, is_named_for, was_made

NAME = "diskbench-one-disk-0"


def test_a_name_is_that_of_the_lease_and_a_kind():
    assert is_named_for("one", NAME)
    assert is_named_for("one", "diskbench-one-machine")
    near = ("diskbench-one-", "diskbench-one", "diskbench-one-disk 0", "diskbench-oneself-disk")
    for other in (*near, "x-diskbench-one-disk", "prod-database", "", None):
        assert not is_named_for("one", other), other


def test_an_id_counts_where_it_was_written_down_or_named():
    made = ("volume vol-1", "instance i-1")
    assert was_made("volume vol-1", made)
    assert not was_made("volume vol-2", made)
    assert was_made("key-pair k", made)
    assert was_made("volume vol-2", ())
    which = Which("one", copied=("volume vol-2",))
    assert which.takes("prod-database", "volume vol-2")
    assert not which.takes(NAME, "volume vol-1")


def test_an_owner_is_known_by_what_clouds_make_of_it():
    assert is_same_owner("alice@desk", "alice@desk")
    assert is_same_owner("alice_desk", "Alice@desk")
    assert not any(is_same_owner(tag, "alice@desk") for tag in ("bob@desk", "", None))
