"""What a cloud gave, against what was asked for."""

import pytest

from diskbench.errors import RentalFailed
from diskbench.providers.skeleton.handover import differs, refuse


def test_a_value_that_is_not_as_asked_is_named_as_it_is_and_as_asked() -> None:
    found = [*differs("disk a", "size in GiB", 10, 20), *differs("disk a", "type", "x", "x")]
    assert found == ["size in GiB of disk a is 20, requested was 10"]
    with pytest.raises(
        RentalFailed, match="Sky delivered something other than what was requested: size in GiB"
    ):
        refuse("Sky", found)


def test_what_is_not_reported_or_not_asked_for_is_no_difference() -> None:
    refuse("Sky", [*differs("disk a", "IOPS", 100, None), *differs("disk a", "IOPS", None, 100)])
