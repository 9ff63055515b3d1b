"""When a bucket empties: the published worked examples, and laws that hold for every disk."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diskbench.catalog.bucket import Demand, charge, phases, seconds_until_empty
from diskbench.catalog.lookup import DiskLimits, limits
from diskbench.units import KIB, MIB


@pytest.mark.parametrize(
    ("size", "seconds"), [(20, 1862), (100, 2000), (334, 2703), (500, 3600), (750, 7200)]
)
def test_gp2_empties_at_the_second_its_guide_says(size: int, seconds: int) -> None:
    found = seconds_until_empty(limits("aws", "gp2", size), Demand(4 * KIB))
    assert found is not None
    assert round(found) == seconds


def test_gp2_of_20_gib_goes_on_at_100_iops() -> None:
    burst, rest = phases(limits("aws", "gp2", 20), Demand(4 * KIB))
    assert (burst.ops_per_s, rest.ops_per_s) == (3000, 100)


@pytest.mark.parametrize(
    ("disk", "tib", "seconds"), [("st1", 1, 4993), ("st1", 5, 17476), ("sc1", 1, 15420)]
)
def test_a_stream_empties_an_hdd_bucket(disk: str, tib: int, seconds: int) -> None:
    found = seconds_until_empty(limits("aws", disk, tib * 1024), Demand(MIB))
    assert found is not None
    assert round(found) == seconds


def test_small_random_io_costs_an_hdd_a_whole_credit() -> None:
    disk = limits("aws", "st1", 1024)
    assert seconds_until_empty(disk, Demand(4 * KIB)) == seconds_until_empty(disk, Demand(MIB))


def test_an_hdd_at_its_ceiling_has_nothing_to_empty() -> None:
    assert seconds_until_empty(limits("aws", "st1", 16384), Demand(MIB)) is None


def test_azure_bursts_for_thirty_minutes() -> None:
    assert seconds_until_empty(limits("azure", "Premium_LRS", 32), Demand(4 * KIB)) == 1800


def test_two_buckets_empty_one_after_the_other() -> None:
    found = phases(limits("azure", "Premium_LRS", 32), Demand(64 * KIB))
    assert [p.limited_by for p in found] == ["bytes", "bytes", "iops"]


def test_a_large_request_counts_as_several() -> None:
    assert charge(limits("aws", "gp2", 20), MIB) == (4, MIB)


def test_a_demand_below_the_baseline_never_empties_a_bucket() -> None:
    (only,) = phases(limits("aws", "gp2", 20), Demand(4 * KIB, ops_per_s=99))
    assert (only.ops_per_s, only.limited_by) == (99, "demand")


def test_a_disk_without_limits_serves_what_is_asked() -> None:
    (only,) = phases(limits("aws", "instance-store", 100), Demand(4 * KIB, ops_per_s=1e6))
    assert only.ops_per_s == 1e6


def test_time_scale_divides_the_capacity_and_nothing_else() -> None:
    real, fast = (
        phases(limits("aws", "gp2", 20), Demand(4 * KIB), time_scale=scale) for scale in (1, 60)
    )
    assert [p.ops_per_s for p in real] == [p.ops_per_s for p in fast]
    assert math.isclose(real[1].start_s, 60 * fast[1].start_s)


DISKS = st.sampled_from(
    [
        limits("aws", "gp2", 20), limits("aws", "gp2", 500), limits("aws", "st1", 2048),
        limits("aws", "sc1", 500), limits("azure", "Premium_LRS", 64),
        limits("azure", "StandardSSD_LRS", 1024), limits("gcp", "pd-ssd", 100),
    ]
)  # fmt: skip


@settings(deadline=None)  # two cores that others use too
@given(DISKS, st.integers(512, 4 * MIB), st.floats(1, 1e5), st.floats(0, 1))
def test_rates_only_fall_and_never_exceed_the_demand(
    disk: DiskLimits, size: int, rate: float, fill: float
) -> None:
    found = phases(disk, Demand(size, rate), fill=fill)
    rates = [p.ops_per_s for p in found]
    assert rates == sorted(rates, reverse=True)
    assert all(0 < r <= rate for r in rates)
    assert len(found) <= 3
