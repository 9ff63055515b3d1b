"""What a trial costs, before and after, and what a disk costs a month; what clouds charge beside
hours: transactions, an address, a least time."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.books import SHIPPED
from tests.unit.report.made import row

from diskbench.catalog.cost import address_part, cost_of, disk_part, machine_part, monthly, sum_usd
from diskbench.catalog.prices import Charges, Counting, Work, done_work, expected_work
from diskbench.catalog.shipped import clouds, shipped_book
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, PricePart, Rental, Scope
from diskbench.store.leases import Lease
from diskbench.units import KIB, MIB

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HDD = DiskSpec(type="Standard_LRS", size_gib=256)
PRICES = st.floats(0, 100, allow_nan=False)


def rental(provider: str = "aws", disk: DiskSpec | None = None, **more: object) -> Rental:
    scope = Scope(provider=provider, region={"aws": "us-east-1", "azure": "eastus"}.get(provider))
    values = {"scope": scope, "spec": RentSpec(), "offer": "a machine", "disk": disk, **more}
    return Rental.model_validate(values)


def lease(hours: float | None, *, age_h: float = 2) -> Lease:
    """A lease of so many hours, or one that is open since `age_h`."""
    begun = NOW - timedelta(hours=age_h)
    ended = None if hours is None else (begun + timedelta(hours=hours)).isoformat()
    return Lease(lease_id="l", provider="aws", created_at=begun.isoformat(), released_at=ended)


def test_the_first_seeds_formula_gives_a_tenth_of_what_it_prints():
    """( $0.0005 / 10000 ) × 1100/s × 3600 × 24 × 30 "= $1,425.60", says the post of 2018; its own
    factors give $142.56. The month it prints takes $0.005 for 10,000, or 11,000 I/Os a second."""
    hours = 30 * 24
    for per_s, usd in ((1100, 142.56), (11_000, 1425.60)):
        work = Work(requests=per_s * hours * 3600, request_bytes=4096, seconds=hours * 3600)
        _, transactions = monthly(SHIPPED, "azure", HDD, "eastus", [work], hours=hours)
        assert transactions == pytest.approx(usd)


def test_a_busy_month_costs_size_and_transactions_as_the_type_and_region_have_them():
    work = expected_work("azure", HDD, [4096], 730 * 3600)
    assert work.requests == 500 * 730 * 3600  # S15 promises 500 IOPS
    month = monthly(SHIPPED, "azure", HDD, "eastus", [work])
    assert month == pytest.approx((11.328, 500 * 730 * 3600 / 10_000 * 0.0005))
    premium = DiskSpec(type="Premium_LRS", size_gib=256)
    work = expected_work("azure", premium, [4096], 3600)
    month = monthly(SHIPPED, "azure", premium, "eastus", [work])
    assert month == pytest.approx((38.012142, 0.0))
    assert monthly(SHIPPED, "azure", HDD, "westeurope", []) == (None, None)


def test_the_busiest_disk_is_bounded_by_what_it_promises_at_the_dearest_size():
    large = expected_work("azure", HDD, [MIB], 10)
    assert large.requests == pytest.approx(60e6 / MIB * 10)  # 60 MB/s
    assert expected_work("azure", HDD, [4096, MIB], 10).requests == 5000
    assert expected_work("azure", HDD, [4096], 10, requests_per_s=20).requests == 200
    striped = expected_work("azure", HDD.model_copy(update={"count": 4}), [4096], 10)
    assert striped.requests == 20_000
    assert expected_work("aws", DiskSpec(type="no-such", size_gib=1), [4096], 10).requests == 0
    s4 = DiskSpec(type="Standard_LRS", size_gib=32)
    assert expected_work("azure", s4, [4096, MIB], 10).request_bytes == MIB


def test_a_trial_costs_all_its_parts_by_the_hour_and_an_azure_disk_an_hour_at_least():
    disk = DiskSpec(type="io1", size_gib=100, iops=5000, count=2)
    parts = (
        machine_part(SHIPPED, "aws", "c4.xlarge", "us-east-1"),
        disk_part(SHIPPED, "aws", DiskSpec(type="gp3", size_gib=8), "us-east-1", what="root disk"),
        disk_part(SHIPPED, "aws", disk, "us-east-1"),
        address_part(SHIPPED, "aws", "us-east-1"),
    )
    cost = cost_of(rental(disk=disk, prices=parts), 1800)
    hourly = 0.199 + 8 * 0.08 / 730 + 2 * (12.5 + 325) / 730 + 0.005
    assert cost.hourly_usd == pytest.approx(hourly)
    assert cost.total_usd == pytest.approx(hourly / 2)
    assert (cost.fixed_usd, cost.transactions_usd, cost.unknown) == (0, 0, ())
    assert "karpenter-provider-aws" in cost.source
    assert "2024-07-01" in cost.source
    disk = DiskSpec(type="Premium_LRS", size_gib=32767)
    machine = machine_part(SHIPPED, "azure", "Standard_D2s_v5", "eastus")
    parts = (machine, disk_part(SHIPPED, "azure", disk, "eastus"))
    cost = cost_of(rental("azure", disk, prices=parts), 600)
    assert cost.total_usd == pytest.approx(0.096 / 6 + 3604.11 / 730)
    assert cost.fixed_usd == pytest.approx(3604.11 / 730 * 5 / 6)


def test_what_has_no_price_is_named_a_sum_needs_all_and_without_parts_the_hourly_price_counts():
    disk = DiskSpec(type="standard", size_gib=20)
    far = Scope(provider="aws", region="eu-central-1")
    machine = machine_part(SHIPPED, "aws", "m5.large", "eu-central-1")
    parts = (machine, PricePart(name="power", hourly_usd=2.0))
    cost = cost_of(rental(disk=disk, scope=far, prices=parts), 3600)
    assert cost.unknown == ("machine m5.large", "transactions of standard")
    assert (cost.hourly_usd, cost.total_usd, cost.known_usd) == (None, None, 2.0)
    assert cost_of(rental(hourly_usd=0.5), 7200).total_usd == 1.0
    assert cost_of(rental(hourly_usd=None), 7200).unknown == ("machine and disks",)
    known, unknown = (PricePart(name="x", hourly_usd=usd) for usd in (1.0, None))
    assert (sum_usd([known, known]), sum_usd([known, unknown]), sum_usd([])) == (2.0, None, None)


@pytest.mark.parametrize("provider", ["lab", "fake"])
def test_what_is_not_rented_costs_nothing(provider: str):
    standard = DiskSpec(type="standard", size_gib=20)
    emulated = rental(provider, standard, cloud="aws", hourly_usd=0.0)
    work = [Work(requests=10**9, request_bytes=4096, seconds=60)]
    assert cost_of(emulated, 3600, work).total_usd == 0
    assert cost_of(None, 3600).total_usd == 0


@given(st.lists(PRICES, min_size=1, max_size=5), st.floats(0, 10**5), st.floats(0, 10**5), PRICES)
def test_longer_never_costs_less_and_the_parts_add_up(usd, seconds, more, assumed):
    parts = tuple(PricePart(name="part", hourly_usd=one, minimum_s=3600) for one in usd)
    short = cost_of(rental(prices=parts), seconds)
    long = cost_of(rental(prices=parts), seconds + more)
    assert short.total_usd is not None
    assert long.total_usd is not None
    assert long.total_usd >= short.total_usd - 1e-9
    assert short.total_usd == pytest.approx(sum(usd) * max(1, seconds / 3600))
    assert short.total_or(assumed) == short.total_usd


@given(st.lists(PRICES, max_size=3), st.floats(0, 10**5), PRICES)
def test_an_assumed_price_is_for_all_of_it_but_never_below_what_is_known(known, seconds, assumed):
    parts = [PricePart(name="part", hourly_usd=one) for one in known]
    parts.append(PricePart(name="odd one", hourly_usd=None))
    cost = cost_of(rental(prices=tuple(parts)), seconds)
    assert cost.total_or(None) is None
    assert cost.total_or(assumed) == max(cost.known_usd, assumed * seconds / 3600)


def test_what_was_done_is_counted_once_by_jobs_and_without_flushes():
    rows = [
        row(scope="job", job="a", ios=1000, bytes=1000 * 4096, runtime_ns=10**10),
        row(scope="job", job="b", ios=500, bytes=500 * MIB, runtime_ns=8 * 10**9),
        row(scope="job", job="b", direction="sync", ios=500, bytes=0),
        row(ios=1500, bytes=1),  # the step, which says the same again
    ]
    works = done_work(rows)
    assert [(work.requests, work.request_bytes) for work in works] == [(1000, 4096), (500, MIB)]
    assert sum(work.seconds for work in works) == 10


def test_a_lease_costs_its_age_and_what_was_done():
    disk = DiskSpec(type="standard", size_gib=20)
    made = rental(disk=disk, prices=(machine_part(SHIPPED, "aws", "m5.large", "us-east-1"),))
    rows = [row(scope="job", ios=2_000_000, bytes=2_000_000 * 4096)]
    cost = cost_of(made, lease(1.5).age_s(NOW), done_work(rows))
    assert (cost.seconds, cost.transactions_usd) == (5400, pytest.approx(0.10))
    assert cost.total_usd == pytest.approx(0.096 * 1.5 + 0.10)
    still = cost_of(made, lease(None).age_s(NOW))
    assert still.total_usd == pytest.approx(0.096 * 2)
    assert lease(None, age_h=-1).age_s(NOW) == 0, "a clock that is behind earns nothing"


SIZES, COUNTS = st.integers(512, 16 * MIB), st.integers(0, 10**9)
WORK = st.builds(Work, requests=COUNTS, request_bytes=SIZES, seconds=st.floats(0, 10**5))
WORKS = st.lists(WORK, max_size=8)


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
