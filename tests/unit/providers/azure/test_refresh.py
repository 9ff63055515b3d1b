"""Limits and prices of Azure as its APIs tell them, made a patch of the catalogue."""

from types import SimpleNamespace

import pytest
import urllib3
from tests.books import SHIPPED

from diskbench.catalog.books import Books
from diskbench.errors import HostUnavailable
from diskbench.providers.azure.refresh import overlay, retail_prices

TODAY = "2026-11-21"
KNOWN = SHIPPED.of("azure")


def sku(name, **capabilities):
    told = {
        "vCPUs": "2", "MemoryGB": "8", "PremiumIO": "True", "MaxDataDiskCount": "4",
        "MaxResourceVolumeMB": "16384", **capabilities,
    }  # fmt: skip
    listed = [{"name": key, "value": value} for key, value in told.items()]
    kind = {"resourceType": "virtualMachines", "locations": ["eastus"]}
    return {**kind, "name": name, "capabilities": listed}


PLAIN = sku(
    "Standard_D2s_v3", UncachedDiskIOPS="3300", UncachedDiskBytesPerSecond="50000000",
    CombinedTempDiskAndCachedIOPS="4100", CombinedTempDiskAndCachedReadBytesPerSecond="33000000",
)  # fmt: skip


def machine_price(name, usd, sku_name="D2s v3", **more):
    return {
        "armSkuName": name, "skuName": sku_name, "productName": "Virtual Machines DSv3 Series",
        "unitOfMeasure": "1 Hour", "retailPrice": usd, **more,
    }  # fmt: skip


def meter(product, name, unit, usd):
    said = {"productName": product, "meterName": name}
    return {**said, "unitOfMeasure": unit, "retailPrice": usd}


def disk_price(tier, usd, kind="LRS"):
    return meter("Premium SSD Managed Disks", f"{tier} {kind} Disk", "1/Month", usd)


def v2_price(part, usd, unit="1/Hour"):
    return meter("Azure Premium SSD v2", f"Premium LRS Provisioned {part}", unit, usd)


def refreshed(machines, *disks):
    return Books((overlay(KNOWN, [PLAIN], machines, disks, TODAY),)).of("azure")


def test_what_lasts_is_refreshed_and_what_bursts_stays_and_a_size_that_was_not_known_is_there():
    burst = KNOWN.machines.types["Standard_D2s_v3"].burst_iops
    book = refreshed([])
    found = book.machines.types["Standard_D2s_v3"]
    assert (found.iops, found.mb_per_s) == (3300, 50)
    assert (found.cached_iops, found.cached_mb_per_s) == (4100, 33)
    assert found.burst_iops == burst
    assert book.machines.sources[found.source].words() == f"Azure Resource SKUs, eastus ({TODAY})"
    figures = {"UncachedDiskIOPS": "100", "UncachedDiskBytesPerSecond": "1000000"}
    skus = [sku("Standard_X8"), sku("Standard_X9", **figures)]
    book = Books((overlay(KNOWN, skus, [], [], TODAY),)).of("azure")
    assert "Standard_X8" not in book.machines.types
    assert "Standard_X9" in book.machines.types
    assert book.prices.machine_hourly_usd("Standard_X9") is None


def test_the_price_is_that_on_demand_for_linux():
    name = "Standard_D2s_v3"
    told = [
        machine_price(name, 0.02, sku_name="D2s v3 Spot"),
        machine_price(name, 0.03, sku_name="D2s v3 Low Priority"),
        machine_price(name, 0.3, productName="DSv3 Series Windows"),
        machine_price(name, 0.111),
    ]
    assert refreshed(told).prices.machine_hourly_usd(name) == 0.111


def test_tiers_are_priced_anew_if_all_are_told():
    tiers = KNOWN.prices.disks["Premium_LRS"].tiers
    book = refreshed([], *(disk_price(tier, 7.0) for tier in tiers))
    assert set(book.prices.disks["Premium_LRS"].tiers.values()) == {7.0}
    assert refreshed([], disk_price("P10", 7.0)).prices.disks["Premium_LRS"].tiers == tiers
    # Zone-redundant disks have tiers of their own.
    found = refreshed([], *(disk_price(tier, 9.0, "ZRS") for tier in tiers)).prices.disks
    assert set(found["Premium_ZRS"].tiers.values()) == {9.0}
    assert found["Premium_LRS"].tiers == tiers


def test_premium_v2_is_priced_by_its_parts_above_what_is_free():
    told = [
        v2_price("Capacity", 0.0001, "1 GiB/Hour"),
        v2_price("IOPS", 0.0),  # the free ones
        v2_price("IOPS", 0.00001),
        v2_price("Throughput (MBps)", 0.0001),
    ]
    assert "PremiumV2_LRS" not in refreshed([], *told[:3]).prices.disks
    price = refreshed([], *told).prices

    def usd(**more):
        return price.disk_hourly_usd("PremiumV2_LRS", 100, "eastus", **more)

    assert usd() == pytest.approx(100 * 0.0001)
    assert usd(iops=3000, throughput=125) == usd()
    assert usd(iops=4000, throughput=225) == pytest.approx(0.01 + 1000 * 0.00001 + 100 * 0.0001)


def test_all_pages_of_the_price_list_are_read_and_one_that_does_not_answer_is_told(monkeypatch):
    """Two pages, as the retail API gives them."""
    prices, asked, status = "https://prices.example/api", [], 200

    def request(_pool, _method, url, *, fields, **_):
        asked.append(fields)
        second = "page" in url
        items = [machine_price("Standard_D4s_v3" if second else "Standard_D2s_v3", 0.2)]
        page = {"Items": items, "NextPageLink": None if second else f"{prices}?page=2"}
        return SimpleNamespace(status=status, json=lambda: page)

    monkeypatch.setattr(urllib3.PoolManager, "request", request)
    found = list(retail_prices(prices, "Virtual Machines", "eastus"))
    assert [one["armSkuName"] for one in found] == ["Standard_D2s_v3", "Standard_D4s_v3"]
    assert "armRegionName eq 'eastus'" in asked[0]["$filter"]
    status = 404
    with pytest.raises(HostUnavailable, match="HTTP 404"):
        list(retail_prices(prices, "Virtual Machines", "eastus"))


def test_another_region_is_asked_for_by_name_with_its_address():
    address = meter("IP Addresses", "Standard IPv4 Static Public IP", "1 Hour", 0.006)
    known = KNOWN.asked_for("westeurope")
    prices = [machine_price("Standard_D2s_v3", 0.12)]
    told = overlay(known, [PLAIN], prices, [disk_price("P10", 7.0)], TODAY, [address])
    book = Books((told,)).of("azure")
    assert book.prices == KNOWN.prices
    there = book.prices_in("westeurope")
    assert there.machine_hourly_usd("Standard_D2s_v3", "westeurope") == 0.12
    assert (there.address and there.address.usd_per_hour, there.disks) == (0.006, {})
    assert there.sources["refreshed-prices"].title == "Azure Retail Prices, westeurope"
