"""Prices from Google's Cloud Billing Catalog (v1, services.skus.list of Compute Engine), in the
form of the catalogue's files. Limits of disks are published in documents only, and stay. On demand,

    usd_per_hour = vCPUs × core of its series + GiB × RAM of its series

which does not hold for types with shared cores or local disks: their prices stay.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from diskbench.catalog.books import Overlay
from diskbench.catalog.prices import PriceBook
from diskbench.catalog.shipped import PRICES
from diskbench.providers.gcp.client import API, Compute
from diskbench.providers.gcp.errors import refused

URL = "https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus"
"""6F81-5844-456A is Compute Engine in the Cloud Billing Catalog."""
SCOPE = "https://www.googleapis.com/auth/cloud-billing.readonly"
_PRICES = "refreshed-prices"
_TIMEOUT_S = 30.0
_NANOS = 1e9
_MIB_PER_GIB = 1024
_MACHINE = re.compile(
    r"(?P<series>[A-Z][0-9]+[A-Z]?) (?:Predefined |AMD |Arm )?Instance "
    r"(?P<what>Core|Ram) running in .*"
)
_SHARED = re.compile(r"(e2-(micro|small|medium)|f1-.*|g1-.*|.*-lssd|.*-metal)")
_DISKS: dict[str, list[str]] = API["skus"]
Item = dict[str, Any]


def refreshed(compute: Compute, known: PriceBook, today: str) -> Overlay:
    """Today's figures of Google for the region of `known`."""
    from google.auth import default
    from google.auth.transport.requests import AuthorizedSession

    login, _ = default(scopes=[SCOPE])
    session = AuthorizedSession(login)  # type: ignore[no-untyped-call]
    types = {
        str(item["name"]): item
        for item in compute.listed_everywhere("machineTypes")
        if str(item.get("zone", "")).rpartition("/")[2].startswith(f"{known.region}-")
    }

    def get(url: str, fields: dict[str, str]) -> Any:  # noqa: ANN401 - a response of requests
        return session.get(url, params=fields, timeout=_TIMEOUT_S)

    return overlay(known, types.values(), skus(get), today)


def skus(get: Callable[[str, dict[str, str]], Any]) -> Iterator[Item]:
    """All SKUs of the catalogue; `get` sends authorised requests. Raises HostUnavailable."""
    fields = {"currencyCode": "USD"}
    while True:
        answer = get(URL, fields)
        if answer.status_code != 200:
            raise refused("no prices", url=URL, answer=answer)
        page = answer.json()
        yield from page.get("skus", [])
        if not page.get("nextPageToken"):
            return
        fields = {**fields, "pageToken": str(page["nextPageToken"])}


def overlay(
    known: PriceBook, machine_types: Iterable[Item], listed_skus: Iterable[Item], today: str
) -> Overlay:
    """The overlay made from the answers for the region of `known`."""
    region = known.region
    rates: dict[tuple[str, str], float] = {}
    disks: dict[str, Item] = {}
    for sku in listed_skus:
        on_demand = sku.get("category", {}).get("usageType") == "OnDemand"
        usd = _usd(sku)
        if not on_demand or usd is None or region not in sku.get("serviceRegions", []):
            continue
        description = str(sku.get("description", ""))
        if match := _MACHINE.fullmatch(description):
            rates[match["series"].lower(), match["what"]] = usd
        elif part := _DISKS.get(description.partition(" in ")[0]):
            name, field = part
            value: Any = [{"usd": usd}] if field == "per_iops" else usd
            disks.setdefault(name, {"source": _PRICES})[field] = value
    machines = {}
    for item in machine_types:
        name = str(item["name"])
        series = name.partition("-")[0]
        core, ram = rates.get((series, "Core")), rates.get((series, "Ram"))
        if core is not None and ram is not None and not _SHARED.fullmatch(name):
            memory_gib = float(item["memoryMb"]) / _MIB_PER_GIB
            machines[name] = float(item["guestCpus"]) * core + memory_gib * ram
    source = {"title": f"Cloud Billing Catalog, Compute Engine, {region}", "as_of": today}
    # Only where every part of the price was told: prices of two dates would look like one date.
    whole = {
        name: item
        for name, item in disks.items()
        if {field for disk, field in _DISKS.values() if disk == name} <= set(item)
    }
    patch = {"sources": {_PRICES: source}, "disks": whole, "machines": {_PRICES: machines}}
    return Overlay(cloud="gcp", region=region, made_on=today, patches={PRICES: patch})


def _usd(sku: Item) -> float | None:
    """The price beyond the free tier; None where there is none."""
    for info in sku.get("pricingInfo", []):
        rates = info.get("pricingExpression", {}).get("tieredRates", [])
        prices = [
            float(price.get("units", 0)) + float(price.get("nanos", 0)) / _NANOS
            for rate in rates
            if (price := rate.get("unitPrice", {})).get("currencyCode", "USD") == "USD"
        ]
        if prices and max(prices) > 0:
            return max(prices)
    return None
