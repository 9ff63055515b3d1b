"""Prices of Google Cloud as its billing catalogue tells them, made a patch of the catalogue."""

from types import SimpleNamespace

import pytest
from tests.books import SHIPPED

from diskbench.catalog.books import Books
from diskbench.catalog.cost import machine_part
from diskbench.errors import HostUnavailable
from diskbench.providers.gcp.refresh import URL, overlay, skus

TODAY = "2026-11-21"
KNOWN = SHIPPED.of("gcp").prices
N2 = {"name": "n2-standard-8", "guestCpus": 8, "memoryMb": 32768}


def sku(description, usd, *, region="us-central1", usage="OnDemand"):
    whole, nanos = divmod(round(usd * 1e9), 10**9)
    price = {"currencyCode": "USD", "units": str(whole), "nanos": nanos}
    return {
        "description": description, "category": {"usageType": usage}, "serviceRegions": [region],
        "pricingInfo": [{"pricingExpression": {"tieredRates": [{"unitPrice": price}]}}],
    }  # fmt: skip


RATES = [
    sku("N2 Instance Core running in Americas", 0.03),
    sku("N2 Instance Ram running in Americas", 0.004),
    sku("N2 Instance Core running in Americas", 0.01, usage="Preemptible"),
    sku("N2 Instance Core running in Belgium", 9, region="europe-west1"),
]


def test_a_machine_costs_its_cores_and_its_memory_and_those_that_share_cores_or_have_disks_stay():
    books = Books((overlay(KNOWN, [N2], RATES, TODAY),))
    part = machine_part(books, "gcp", "n2-standard-8", "us-central1")
    assert part.hourly_usd == pytest.approx(8 * 0.03 + 32 * 0.004)
    assert TODAY in part.source
    assert books.of("gcp").prices.machine_price("n1-standard-4") is not None
    shared = {"name": "e2-micro", "guestCpus": 2, "memoryMb": 1024}
    rates = [sku(f"E2 Instance {what} running in Americas", 0.03) for what in ("Core", "Ram")]
    before = machine_part(SHIPPED, "gcp", "e2-micro", "us-central1")
    books = Books((overlay(KNOWN, [shared], rates, TODAY),))
    assert machine_part(books, "gcp", "e2-micro", "us-central1") == before


def disks_of(*skus):
    return Books((overlay(KNOWN, [], skus, TODAY),)).of("gcp").prices.disks


def test_a_disk_or_a_type_without_a_price_is_priced_anew_if_every_part_of_it_is_told():
    assert disks_of(sku("SSD backed PD Capacity", 0.18))["pd-ssd"].per_gib == 0.18
    half = sku("Extreme PD Capacity", 0.2)
    assert disks_of(half)["pd-extreme"].per_gib == 0.125
    assert disks_of(half, sku("Extreme PD IOPS", 0.07))["pd-extreme"].per_iops[0].usd == 0.07
    disks = disks_of(
        sku("Hyperdisk Throughput Capacity in Iowa", 0.005),
        sku("Hyperdisk Throughput Throughput Capacity in Iowa", 0.25),
        sku("Hyperdisk ML Capacity in Iowa", 0.08),
    )
    assert disks["hyperdisk-throughput"].month_usd(2048, 0, 100) == 2048 * 0.005 + 100 * 0.25
    assert "hyperdisk-ml" not in disks


def test_all_pages_are_read_and_a_catalogue_that_refuses_is_told():
    pages = {None: {"skus": [1], "nextPageToken": "two"}, "two": {"skus": [2]}}
    asked = []

    def get(url, fields):
        asked.append({"url": url, **fields})
        return SimpleNamespace(status_code=200, json=lambda: pages[fields.get("pageToken")])

    assert list(skus(get)) == [1, 2]
    assert asked[1] == {"url": URL, "currencyCode": "USD", "pageToken": "two"}
    with pytest.raises(HostUnavailable, match="HTTP 403"):
        list(skus(lambda *_: SimpleNamespace(status_code=403, json=dict)))


def test_another_region_has_the_prices_of_its_own():
    known = SHIPPED.of("gcp").asked_for("europe-west1").prices
    rates = [*RATES, sku("N2 Instance Ram running in Belgium", 1, region="europe-west1")]
    books = Books((overlay(known, [N2], rates, TODAY),))
    part = machine_part(books, "gcp", "n2-standard-8", "europe-west1")
    assert part.hourly_usd == pytest.approx(8 * 9 + 32 * 1)
    home = machine_part(SHIPPED, "gcp", "n2-standard-8", "us-central1")
    assert machine_part(books, "gcp", "n2-standard-8", "us-central1") == home
