"""Disks are recognised by their bucket."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.plan.identify import like
from diskbench.units import MIB


@pytest.mark.parametrize(
    ("before", "after", "spent", "name"),
    [
        (3001, 99.5, 5_402_059, "aws:gp2:33"),
        (3029, 101.2, 5_399_782, "aws:gp2:33"),  # one per cent above its limits: of the floor still
        (3000, 768, 5.4e6, "aws:gp2:256"),
        (3500, 500, 5.4e6, "azure:Premium_LRS:128"),
    ],
)
def test_a_bucket_names_its_disk(before, after, spent, name):
    assert name in like(before, after, spent)


def test_a_fall_like_no_bucket_also_of_a_drive_that_wrote_its_cache_full_names_none():
    assert like(3000, 1000, 1e6) == ()
    assert like(2.9e9, 0.94e9, 5.7e11, counts="bytes") == ()


@given(gib=st.integers(34, 900))
def test_every_size_of_gp2_that_bursts_is_recognised(gib):
    assert f"aws:gp2:{gib}" in like(3000, 3 * gib, 5.4e6)


@pytest.mark.parametrize(
    ("before", "after", "spent", "name"),
    [(250, 40, 1_048_576, "aws:st1:1024"), (80, 12, 1_048_576, "aws:sc1:1024")],
)
def test_a_bucket_of_throughput_names_its_disk(before, after, spent, name):
    assert name in like(before * MIB, after * MIB, spent * MIB, counts="bytes")
