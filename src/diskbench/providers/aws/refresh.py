"""Limits and prices from EC2 and AWS's Price List, in the form of the catalogue's files: EC2
DescribeInstanceTypes, and GetProducts of AmazonEC2 of the Price List Query API: on demand, Linux,
shared tenancy, without software; volumes by `volumeApiName`, storage in GB-Mo, IOPS in IOPS-Mo (io2
in tiers by usage type), throughput in GiBps-mo.
"""

import json
from collections.abc import Iterable
from typing import Any

from diskbench.catalog.books import Overlay, ProviderBook
from diskbench.catalog.prices import PriceBook
from diskbench.catalog.shipped import MACHINES, PRICES
from diskbench.providers.aws.client import Aws, AwsTiming
from diskbench.providers.aws.offer import machine
from diskbench.units import GIB

_TYPES, _PRICES = "refreshed-types", "refreshed-prices"
_MIB_IN_GIB = 1024
_IO2_TIERS = (("", 32_000), (".tier2", 64_000), (".tier3", None))
"""The upper limit of each tier of io2's IOPS (provisioned-iops.md; the API names the tiers
only)."""
Item = dict[str, Any]


def refreshed(aws: Aws, timing: AwsTiming, known: ProviderBook, today: str) -> Overlay:
    """Today's figures of EC2 and its price list for the region of `known`; `aws` must be a
    client of that region."""
    types = aws.edge("ec2", timing).listed("describe_instance_types", "InstanceTypes", {})
    pricing = aws.edge("pricing", timing)

    def products(attributes: dict[str, str]) -> list[Item]:
        fields = {"regionCode": aws.region, **attributes}
        match = [{"Type": "TERM_MATCH", "Field": key, "Value": one} for key, one in fields.items()]
        request = {"ServiceCode": "AmazonEC2", "Filters": match}
        listed: list[Any] = pricing.listed("get_products", "PriceList", request)
        return [json.loads(item) if isinstance(item, str) else item for item in listed]

    machines = products(_MACHINES)
    families = ("Storage", "System Operation", "Provisioned Throughput")
    storage = [item for family in families for item in products({"productFamily": family})]
    return overlay(known, types, machines, storage, today)


_MACHINES = {
    "productFamily": "Compute Instance", "operatingSystem": "Linux", "tenancy": "Shared",
    "preInstalledSw": "NA", "capacitystatus": "Used",
}  # fmt: skip


def overlay(
    known: ProviderBook,
    types: Iterable[Item],
    machines: Iterable[Item],
    storage: Iterable[Item],
    today: str,
) -> Overlay:
    """The overlay made from the answers, without types that have no price and are not in
    `known`."""
    region = known.prices.region
    prices = {
        str(item["product"]["attributes"]["instanceType"]): usd
        for item in machines
        if (usd := _usd(item, "Hrs"))
    }
    entries = {}
    for described in types:
        name = str(described["InstanceType"])
        known_type = known.machines.types.get(name)
        if name in prices or known_type is not None:
            entries[name] = _entry(described, known_type is None)
    types_source = {"title": f"EC2 DescribeInstanceTypes, {region}", "as_of": today}
    prices_source = {"title": f"AWS Price List API, AmazonEC2, {region}", "as_of": today}
    listed = {name: usd for name, usd in prices.items() if name in entries}
    patches: dict[str, Item] = {
        MACHINES: {"sources": {_TYPES: types_source}, "types": entries},
        PRICES: {
            "sources": {_PRICES: prices_source},
            "machines": {_PRICES: listed},
            "disks": _volumes(storage, known.prices),
        },
    }
    return Overlay(cloud="aws", region=region, made_on=today, patches=patches)


def _entry(described: Item, is_new: bool) -> Item:
    machine_type = machine(described)
    entry: Item = {
        "vcpus": machine_type.vcpus,
        "memory_gib": machine_type.memory_bytes / GIB,
        "arch": machine_type.arch,
        "current": bool(described.get("CurrentGeneration", True)),
        "burstable": machine_type.burstable,
        "traits": {
            "hypervisor": "xen" if machine_type.hypervisor == "xen" else "nitro",
            "ebs_optimized": machine_type.ebs_optimized,
        },
        "iops": machine_type.ebs.baseline_iops,
        "mb_per_s": machine_type.ebs.baseline_mb_per_s,
        "burst_iops": _above(machine_type.ebs.max_iops, machine_type.ebs.baseline_iops),
        "burst_mb_per_s": _above(machine_type.ebs.max_mb_per_s, machine_type.ebs.baseline_mb_per_s),
        "disks_apart": machine_type.disks_apart,
        "source": _TYPES,
    }
    if machine_type.max_disks is not None or is_new:
        entry["max_disks"] = machine_type.max_disks or 1
    if machine_type.local is not None:
        entry["local"] = machine_type.local.model_dump(exclude_none=True)
    return entry


def _volumes(storage: Iterable[Item], known: PriceBook) -> dict[str, Item]:
    """Prices of volumes by type. A price missing from the answers keeps its known value."""
    volumes: dict[str, Item] = {}
    tiers: dict[str, float] = {}
    for item in storage:
        attributes = item["product"]["attributes"]
        name, usage = str(attributes.get("volumeApiName", "")), str(attributes.get("usagetype", ""))
        if name not in known.disks:
            continue
        volume = volumes.setdefault(name, {"source": _PRICES})
        if (usd := _usd(item, "GB-Mo")) is not None:
            volume["per_gib"] = usd
        elif (usd := _usd(item, "IOPS-Mo")) is not None and name == "io2":
            tiers[usage.rpartition("VolumeP-IOPS.io2")[2]] = usd
        elif usd is not None:
            volume["per_iops"] = [{"usd": usd}]
        elif (usd := _usd(item, "GiBps-mo")) is not None:
            volume["per_mib_per_s"] = usd / _MIB_IN_GIB
    if all(tier in tiers for tier, _ in _IO2_TIERS):
        volumes["io2"]["per_iops"] = [
            {"usd": tiers[tier]} | ({} if most is None else {"up_to": most})
            for tier, most in _IO2_TIERS
        ]
    # Snapshots and the like are listed without a type; an entry without a storage price is no
    # volume.
    return {name: entry for name, entry in volumes.items() if "per_gib" in entry}


def _usd(product: Item, unit: str) -> float | None:
    """The on-demand price per unit; None where another unit is sold, or where it is free."""
    for term in product.get("terms", {}).get("OnDemand", {}).values():
        for price in term.get("priceDimensions", {}).values():
            if str(price.get("unit", "")).lower() == unit.lower():
                usd = float(price.get("pricePerUnit", {}).get("USD", 0))
                return usd or None
    return None


def _above(most: float | None, baseline: float | None) -> float | None:
    return most if most is not None and (baseline is None or most > baseline) else None
