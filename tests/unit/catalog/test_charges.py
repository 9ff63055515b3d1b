"""What clouds charge beside hours: transactions, an address, a least time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.books import SHIPPED

from diskbench.catalog.charges import Charges, Counting, Work
from diskbench.catalog.entry import clouds
from diskbench.catalog.yaml_loader import shipped_book
from diskbench.units import KIB, MIB

WORKS = st.lists(
    st.builds(
        Work,
        requests=st.integers(0, 10**9),
        request_bytes=st.integers(512, 16 * MIB),
        seconds=st.floats(0, 10**5),
    ),
    max_size=8,
)


def charged(cloud: str) -> Charges:
    found = shipped_book(Charges, cloud)
    assert found is not None, cloud
    return found


def test_charges_are_of_the_region_of_the_prices_five_cents_for_a_million_of_ebs_magnetic():
    for cloud in clouds():
        assert charged(cloud).region == SHIPPED.of(cloud).prices.region
    standard = charged("aws").transactions["standard"]
    million = [Work(requests=10**6, request_bytes=MIB, seconds=5000)]
    assert standard.cost_usd(standard.counted_as(None).count(million)) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("disk", "tier", "request_bytes", "transactions"),
    [
        ("StandardSSD_LRS", "E10", 4 * KIB, 1),
        ("StandardSSD_LRS", "E10", 256 * KIB, 1),
        ("StandardSSD_LRS", "E10", 257 * KIB, 2),
        ("StandardSSD_LRS", "E10", MIB, 4),
        ("Standard_LRS", "S10", MIB, 1),  # one an I/O, whatever its size
        ("Standard_LRS", "S4", 4 * KIB, 1),
        ("Standard_LRS", "S4", 64 * KIB, 4),  # Microsoft's own example
        ("Standard_LRS", "S4", MIB, 64),
        ("Standard_LRS", "S80", 256 * KIB, 16),
        ("Standard_LRS", "S80", MIB, 16),  # at most 16 units an I/O
    ],
)
def test_azure_counts_large_requests_as_the_tier_says(disk, tier, request_bytes, transactions):
    sold = charged("azure").transactions[disk]
    assert sold.counted_as(tier).units(request_bytes) == transactions


def test_an_hour_of_an_s4_is_billed_for_450000_transactions_at_most():
    s4 = charged("azure").transactions["Standard_LRS"].counted_as("S4")
    busy = Work(requests=500 * 3600, request_bytes=4 * KIB, seconds=3600)
    assert s4.count([busy]) == 450_000
    assert s4.count([busy, busy]) == 900_000
    assert s4.count([busy], disks=2) == 900_000
    assert s4.count([Work(requests=10, request_bytes=4 * KIB, seconds=1)]) == 10


@given(WORKS, st.integers(1, 1024), st.integers(1, 64), st.integers(1, 10**9))
def test_a_cap_never_raises_and_a_smaller_unit_never_lowers_what_is_billed(works, unit, most, cap):
    plain = Counting(source="x", unit_kib=unit)
    assert Counting(source="x", unit_kib=unit, most_units=most).count(works) <= plain.count(works)
    assert Counting(source="x", unit_kib=unit, hourly_cap=cap).count(works) <= plain.count(works)
    assert Counting(source="x", unit_kib=2 * unit).count(works) <= plain.count(works)
    assert Counting(source="x").count(works) == sum(work.requests for work in works)


def test_prices_of_google_hold_in_their_region_only():
    book = SHIPPED.of("gcp").prices
    assert book.machine_hourly_usd("n2-standard-2", "us-central1") == 0.097118
    assert book.machine_hourly_usd("n2-standard-2", "europe-west4") is None
    assert book.machine_hourly_usd("no-such-1", "us-central1") is None
    assert book.disk_hourly_usd("pd-ssd", 100, "us-central1") == pytest.approx(17 / 730)
    assert book.disk_hourly_usd("pd-ssd", 100, "europe-west4") is None
    assert book.disk_hourly_usd("hyperdisk-throughput", 2048, "us-central1") is None
    paid = book.disk_hourly_usd("hyperdisk-balanced", 100, "us-central1", iops=3600, throughput=290)
    assert paid == pytest.approx((8 + 600 * 0.005 + 150 * 0.04) / 730)
