"""Limits and prices from Azure in the form of the catalogue's files: Resource SKUs, "List", which
has the sustained figures of both paths and no bursts (these keep their values); and
https://prices.azure.com/api/retail/prices, Consumption, which needs no login: a machine on demand
for Linux is neither Spot nor Low Priority nor Windows, a disk is identified by its tier."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import urllib3

from diskbench.catalog.books import Overlay, ProviderBook
from diskbench.catalog.prices import PriceBook
from diskbench.catalog.shipped import MACHINES, PRICES, catalogue
from diskbench.errors import HostUnavailable
from diskbench.providers.azure.client import API, AzureClient, resource_skus
from diskbench.providers.azure.machines import machine
from diskbench.providers.networks import pool_for
from diskbench.units import GIB

URL = "https://prices.azure.com/api/retail/prices"
_SKUS, _PRICES = "refreshed-skus", "refreshed-prices"
_TIMEOUT_S = 30.0
_TRIES = 3
_TIER = re.compile(r"(?P<tier>[SEP][0-9]+) (?P<redundancy>[LZ]RS) Disk", re.IGNORECASE)
_PRODUCTS: dict[str, str] = API["products"]
_V2 = "Azure Premium SSD v2"
_METERS: dict[str, str] = API["meters"]
_ADDRESS = ("IP Addresses", "Standard IPv4 Static Public IP", "1 Hour")
Item = dict[str, Any]


def refreshed(edge: AzureClient, known: ProviderBook, today: str, *, url: str = URL) -> Overlay:
    """Today's figures of Azure for the region of `known`."""
    region = known.prices.region
    skus = resource_skus(edge, region)
    services = ("Virtual Machines", "Storage", "Virtual Network")
    machines, disks, addresses = ([*retail_prices(url, one, region)] for one in services)
    return overlay(known, skus, machines, disks, today, addresses)


def retail_prices(url: str, service: str, region: str) -> Iterator[Item]:
    """All pages of the prices of a service. Raises HostUnavailable."""
    conditions = f"serviceName eq '{service}' and armRegionName eq '{region}'"
    conditions += " and priceType eq 'Consumption'"
    fields: dict[str, str] | None = {"$filter": conditions}
    following: str | None = url
    again = "try again; the old ones stay"
    while following:
        try:
            answer = pool_for(following).request(
                "GET", following, fields=fields, timeout=_TIMEOUT_S, retries=_TRIES
            )
            page = answer.json()
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise HostUnavailable(f"no prices from {following}: {error}", advice=again) from error
        if answer.status != 200 or "Items" not in page:
            why = f"HTTP {answer.status}"
            raise HostUnavailable(f"no prices from {following}: {why}", advice=again)
        yield from page["Items"]
        following, fields = page.get("NextPageLink"), None


def overlay(
    known: ProviderBook, skus: Iterable[Item], machines: Iterable[Item], disks: Iterable[Item],
    today: str, addresses: Iterable[Item] = (),
) -> Overlay:  # fmt: skip
    """The overlay made from the answers, without sizes that have no disk figures."""
    region = known.prices.region
    prices = {str(item["armSkuName"]): usd for item in machines if (usd := _on_demand(item))}
    machine_skus = [sku for sku in skus if sku.get("resourceType") == "virtualMachines"]
    sizes = {str(sku["name"]): entry for sku in machine_skus if (entry := _entry(sku, known))}
    skus_source = {_SKUS: {"title": f"Azure Resource SKUs, {region}", "as_of": today}}
    prices_source = {_PRICES: {"title": f"Azure Retail Prices, {region}", "as_of": today}}
    listed = {name: usd for name, usd in prices.items() if name in sizes}
    asked = [
        float(item["retailPrice"])
        for item in addresses
        if (item.get("productName"), item.get("meterName"), item.get("unitOfMeasure")) == _ADDRESS
    ]
    address = {"address": {"usd_per_hour": max(asked), "source": _PRICES}} if asked else {}
    patched = {"machines": {_PRICES: listed}, "disks": _disks(disks, known.prices), **address}
    patches = {
        MACHINES: {"sources": skus_source, "types": sizes},
        PRICES: {"sources": prices_source, **patched},
    }
    return Overlay(cloud="azure", region=region, made_on=today, patches=patches)


def _entry(sku: Item, known: ProviderBook) -> Item | None:
    size = machine(sku, known)
    if size.uncached.iops is None or size.uncached.mb_per_s is None:
        return None
    entry: Item = {
        "vcpus": size.vcpus,
        "memory_gib": size.memory_bytes / GIB,
        "burstable": size.burstable,
        "iops": size.uncached.iops,
        "mb_per_s": size.uncached.mb_per_s,
        "max_disks": size.max_disks,
        "traits": {
            "premium": size.premium,
            "cacheable": size.cacheable,
            "interface": size.interface,
            "temp_gib": int(size.local_gib),
        },
        "source": _SKUS,
    }
    if size.cacheable and size.cached.iops is not None:
        entry |= {"cached_iops": size.cached.iops, "cached_mb_per_s": size.cached.mb_per_s}
    return entry


def _on_demand(item: Item) -> float | None:
    words = f"{item.get('skuName', '')} {item.get('productName', '')}"
    other = any(word in words for word in ("Spot", "Low Priority", "Windows", "CloudServices"))
    if other or item.get("unitOfMeasure") != "1 Hour" or not item.get("armSkuName"):
        return None
    return float(item["retailPrice"]) or None


def _disks(items: Iterable[Item], known: PriceBook) -> dict[str, Item]:
    """Prices of the catalogue's tiers by disk type, and of the parts of Premium SSD v2."""
    listed = list(items)
    # What transactions of StandardSSD_ZRS cost is not known: its tiers would be half a price.
    priced = {name: set(price.tiers) for name, price in known.disks.items()}
    entries: dict[str, Item] = {}
    for item in listed:
        family = _PRODUCTS.get(str(item.get("productName")))
        tier = _TIER.fullmatch(str(item.get("meterName")))
        if family is None or tier is None or item.get("unitOfMeasure") != "1/Month":
            continue
        name, step = f"{family}_{tier['redundancy'].upper()}", tier["tier"].upper()
        if step in priced.get(name, ()):
            entry = entries.setdefault(name, {"source": _PRICES, "tiers": {}})
            entry["tiers"][step] = float(item["retailPrice"])
    # Tiers of two dates under one source would look like one date: all or none.
    whole = {name: new for name, new in entries.items() if set(new["tiers"]) == priced[name]}
    return whole | _premium_v2(listed, known)


def _premium_v2(items: Iterable[Item], known: PriceBook) -> dict[str, Item]:
    """The monthly prices of Premium SSD v2; nothing unless all three parts are listed."""
    hourly = {
        _METERS[str(item["meterName"])]: float(item["retailPrice"])
        for item in items
        if item.get("productName") == _V2
        and item.get("meterName") in _METERS
        and str(item.get("unitOfMeasure")).endswith("/Hour")
        and float(item["retailPrice"])
    }
    limits = catalogue("azure").disk("PremiumV2_LRS")
    if set(hourly) != set(_METERS.values()) or known.month_hours is None:
        return {}
    month = {name: usd * known.month_hours.value for name, usd in hourly.items()}
    return {
        "PremiumV2_LRS": {
            "source": _PRICES,
            "per_gib": month["per_gib"],
            "per_iops": [{"usd": month["per_iops"]}],
            "free_iops": int(limits.iops.min or 0) if limits.iops else 0,
            "per_mb_per_s": month["per_mb_per_s"],
            "free_mb_per_s": (limits.throughput.min or 0) if limits.throughput else 0,
        }
    }
