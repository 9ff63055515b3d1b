"""Sizes of virtual machines and types of disks, as Resource SKUs lists them.

Figures: the Resource SKUs listings of eastus (2024-01-12) and southcentralus (2025-06-03) that
karpenter-provider-azure keeps for its tests, and azure-compute-docs sizes/** (2020 to 2026) for
those that they do not have; None where neither says. Ebds_v5: ebdsv5-ebsv5-series.md; v6, Ls_v4:
dsv6-, dasv6-, ebsv6- and lsv4-series.md (2024 to 2026), whose names of families are ours.
"""

from dataclasses import dataclass
from typing import Any

from emulators.azure.call import Answer, Call, Refusal
from emulators.azure.cloud import Cloud, Route
from emulators.azure.disk_rules import SKU_TIERS, TIERS, UNCACHED, ZRS, Tier
from emulators.azure.subscriptions import LOCATIONS, ZONAL

MB, MIB, GIB = 10**6, 2**20, 2**30


@dataclass(frozen=True)
class Size:
    """One size. Uncached is for all network disks together, cached for the temporary disk and
    cached ones; MB/s are 10^6."""

    name: str
    family: str
    cores: int
    memory_gib: float
    disks: int
    temp_gib: int
    uncached: tuple[float, float] | None
    cached: tuple[float, float] | None = None
    cache_gib: int | None = None
    premium: bool = True
    ultra: bool = False
    generations: str = "V1,V2"
    controllers: str = "SCSI"
    """SCSI; "SCSI, NVMe" for sizes with both; NVMe."""
    nvme_gib: int = 0
    """Of the size's own NVMe disks, which are in place of a temporary one."""
    retires: str = ""

    def capabilities(self) -> dict[str, str]:
        """As the listing says them: all values are text."""
        found = {
            "MaxResourceVolumeMB": self.temp_gib * 1024,
            "OSVhdSizeMB": 1047552,
            "vCPUs": self.cores,
            "vCPUsAvailable": self.cores,
            "MemoryGB": f"{self.memory_gib:g}",
            "MaxDataDiskCount": self.disks,
            "HyperVGenerations": self.generations,
            "DiskControllerTypes": self.controllers,
            "CpuArchitectureType": "x64",
            "PremiumIO": self.premium,
            "LowPriorityCapable": not self.name.startswith("Standard_B"),
            "AcceleratedNetworkingEnabled": self.cores > 1,
            "MaxNetworkInterfaces": 2,
        }
        if self.cached:
            found["CombinedTempDiskAndCachedIOPS"] = int(self.cached[0])
            for way in ("Read", "Write"):
                key = f"CombinedTempDiskAndCached{way}BytesPerSecond"
                found[key] = int(self.cached[1] * MB)
        if self.nvme_gib:
            found["NvmeDiskSizeInMiB"] = self.nvme_gib * 1024
        if self.retires:
            found["RetirementDateUtc"] = self.retires
        if self.cache_gib:
            found["CachedDiskBytes"] = self.cache_gib * GIB
        if self.uncached:
            found["UncachedDiskIOPS"] = int(self.uncached[0])
            found["UncachedDiskBytesPerSecond"] = int(self.uncached[1] * MB)
        return {key: str(value) for key, value in found.items()}


def _row(text: str, **more: Any) -> Size:
    words = text.split()
    name, family, cores, memory, disks, temp, *limits = words
    figures = [None if word == "-" else float(word) for word in limits]
    uncached, cached = tuple(figures[:2]), tuple(figures[2:4])
    return Size(
        f"Standard_{name}", family, int(cores), float(memory), int(disks), int(temp),
        uncached, cached if cached and cached[0] else None,  # type: ignore[arg-type]
        int(words[10]) if len(words) > 10 else None, **more,
    )  # fmt: skip


_BOTH: dict[str, Any] = {"controllers": "SCSI, NVMe", "ultra": True}
_NVME: dict[str, Any] = {"controllers": "NVMe", "ultra": True, "generations": "V2"}
_MAY: dict[str, Any] = {"retires": "05/01/2028"}
_NOV: dict[str, Any] = {"retires": "11/15/2028"}
"""Sizes announced for retirement: retired-sizes-list.md (2025)."""
# name, family, cores, GiB, data disks, temporary GiB, uncached IOPS MB/s, cached IOPS MB/s, GiB
_ROWS = (
    _row("B1s standardBSFamily 1 1 2 4 320 22.5 400 22.5 30", **_NOV),
    _row(
        "D2_v2 standardDv2Family 2 7 8 100 6400 96 6000 98.3",
        premium=False,
        generations="V1",
        **_MAY,
    ),
    _row("D2_v3 standardDv3Family 2 8 4 50 3200 48 3000 46", premium=False, generations="V1"),
    _row("D2s_v3 standardDSv3Family 2 8 4 16 3200 48 4000 32 50", ultra=True),
    _row("D4s_v3 standardDSv3Family 4 16 8 32 6400 96 8000 64 100", ultra=True),
    _row("D8s_v3 standardDSv3Family 8 32 16 64 12800 192 16000 128 200", ultra=True),
    _row("D2s_v5 standardDSv5Family 2 8 4 0 3750 85 - -", ultra=True),
    _row("D4s_v5 standardDSv5Family 4 16 8 0 6400 145 - -", ultra=True),
    _row("D8s_v5 standardDSv5Family 8 32 16 0 12800 290 - -", ultra=True),
    _row("D16s_v5 standardDSv5Family 16 64 32 0 25600 600 - -", ultra=True),
    _row("D32s_v5 standardDSv5Family 32 128 32 0 51200 865 - -", ultra=True),
    _row("D48s_v5 standardDSv5Family 48 192 32 0 76800 1315 - -", ultra=True),
    _row("E2s_v5 standardESv5Family 2 16 4 0 3750 85 - -", ultra=True),
    _row("E4s_v5 standardESv5Family 4 32 8 0 6400 145 - -", ultra=True),
    _row("E8s_v5 standardESv5Family 8 64 16 0 12800 290 - -", ultra=True),
    _row("E2bs_v5 standardEBSv5Family 2 16 4 0 6000 170 - -", **_BOTH),
    _row("E4bs_v5 standardEBSv5Family 4 32 8 0 12100 350 - -", **_BOTH),
    _row("E8bs_v5 standardEBSv5Family 8 64 16 0 24200 680 - -", **_BOTH),
    _row("E16bs_v5 standardEBSv5Family 16 128 32 0 48400 1370 - -", **_BOTH),
    _row("E32bs_v5 standardEBSv5Family 32 256 32 0 96800 2740 - -", **_BOTH),
    _row("E2bds_v5 standardEBDSv5Family 2 16 4 75 6000 170 9000 125 50", **_BOTH),
    _row("E4bds_v5 standardEBDSv5Family 4 32 8 150 12100 350 19000 250 100", **_BOTH),
    _row("D2s_v6 standardDsv6Family 2 8 8 0 3750 106 - -", **_NVME),
    _row("D4s_v6 standardDsv6Family 4 16 12 0 6400 212 - -", **_NVME),
    _row("D2as_v6 standardDasv6Family 2 8 4 0 4000 90 - -", **_NVME),
    _row("D4as_v6 standardDasv6Family 4 16 8 0 7600 180 - -", **_NVME),
    _row("E2bs_v6 standardEbsv6Family 2 16 8 0 8800 253 - -", **_NVME),
    _row("E4bs_v6 standardEbsv6Family 4 32 12 0 17600 506 - -", **_NVME),
    _row("E8bs_v6 standardEbsv6Family 8 64 24 0 36300 1023 - -", **_NVME),
    _row("L2s_v4 standardLsv4Family 2 16 8 0 3750 106 - -", nvme_gib=447, **_NVME),
    _row("L4s_v4 standardLsv4Family 4 32 12 0 6400 212 - -", nvme_gib=894, **_NVME),
    _row("F2s_v2 standardFSv2Family 2 4 4 16 3200 47 4000 31 32", ultra=True, **_NOV),
    _row("F4s_v2 standardFSv2Family 4 8 8 32 6400 95 8000 63 64", ultra=True, **_NOV),
    _row("F8s_v2 standardFSv2Family 8 16 16 64 12800 190 16000 127 128", ultra=True, **_NOV),
    _row("F16s_v2 standardFSv2Family 16 32 32 128 25600 380 32000 255 256", ultra=True, **_NOV),
    _row("DS1_v2 standardDSv2Family 1 3.5 4 7 3200 48 4000 32 43", **_MAY),
    _row("DS2_v2 standardDSv2Family 2 7 8 14 6400 96 8000 65.5 86", **_MAY),
    _row("DS3_v2 standardDSv2Family 4 14 16 28 12800 192 16000 128 172", **_MAY),
    _row(
        "GS5 standardGSFamily 32 448 64 896 80000 2000 160000 1600 4224", generations="V1", **_NOV
    ),
    _row("M64s standardMSFamily 64 1024 64 2048 40000 1000 80000 800 6348", ultra=True),
    _row("M128s standardMSFamily 128 2048 64 4096 80000 2000 160000 1600 12696", ultra=True),
)
SIZES = {size.name.lower(): size for size in _ROWS}


def size_of(name: str | None) -> Size:
    """The size of that name. Raises Refusal where it is not sold."""
    found = SIZES.get((name or "").lower())
    if found is None:
        raise Refusal(
            "InvalidParameter",
            f"The value {name} provided for the VM size is not valid. The valid sizes in the "
            f"current region are: {', '.join(size.name for size in _ROWS)}.",
            target="vmSize",
        )
    return found


def _skus(_: Cloud, call: Call) -> Answer:
    wanted = call.query.get("$filter", "")
    where = [one for one in LOCATIONS if f"'{one}'" in wanted] or list(LOCATIONS)
    if wanted and not where:
        return Answer(200, {"value": []})
    rows = [_machine(size, place) for place in where for size in _ROWS]
    rows += [row for place in where for sku in SKU_TIERS if (row := _disk(sku, place))]
    rows += [_tier(sku, tier, place) for place in where for sku in TIERS for tier in TIERS[sku]]
    return Answer(200, {"value": rows})


def _machine(size: Size, location: str) -> dict[str, Any]:
    zones = ["1", "2", "3"] if location in ZONAL else []
    details = (
        [{"name": zones, "capabilities": [{"name": "UltraSSDAvailable", "value": "True"}]}]
        if zones and size.ultra
        else []
    )
    info = {"location": location, "zones": zones, "zoneDetails": details}
    return {
        "resourceType": "virtualMachines",
        "name": size.name,
        "tier": "Standard",
        "size": size.name.removeprefix("Standard_"),
        "family": size.family,
        "locations": [location],
        "locationInfo": [info],
        "capabilities": [{"name": k, "value": v} for k, v in size.capabilities().items()],
        "restrictions": [],
    }


def _disk(sku: str, location: str) -> dict[str, Any] | None:
    if location not in ZONAL and (sku in UNCACHED or sku in ZRS):
        return None
    zones = ["1", "2", "3"] if location in ZONAL and sku not in ZRS else []
    return {
        "resourceType": "disks",
        "name": sku,
        "tier": SKU_TIERS[sku],
        "locations": [location],
        "locationInfo": [{"location": location, "zones": zones, "zoneDetails": []}],
        "capabilities": [],
        "restrictions": [],
    }


def _tier(sku: str, tier: Tier, location: str) -> dict[str, Any]:
    """One size of a disk type that is sold in steps (Resource SKUs, resourceType disks)."""
    figures = {"MaxSizeGiB": tier.gib, "MaxIOps": tier.iops, "MaxBandwidthMBps": tier.mbps}
    zones = ["1", "2", "3"] if location in ZONAL else []
    return {
        "resourceType": "disks",
        "name": sku,
        "tier": SKU_TIERS[sku],
        "size": tier.name,
        "locations": [location],
        "locationInfo": [{"location": location, "zones": zones, "zoneDetails": []}],
        "capabilities": [{"name": name, "value": str(value)} for name, value in figures.items()],
        "restrictions": [],
    }


def _usages(cloud: Cloud, call: Call) -> Answer:
    where, faults = (call.names["sub"], call.names["location"]), cloud.faults
    rows = [("cores", "Total Regional vCPUs", cores_in_use(cloud, *where), faults.quota_cores)]
    for family in sorted({size.family for size in _ROWS}):
        used = cores_in_use(cloud, *where, family)
        rows.append((family, f"{family} vCPUs", used, family_quota(cloud, family)))
    value = [
        {"limit": most, "unit": "Count", "currentValue": now,
         "name": {"value": name, "localizedValue": shown}}
        for name, shown, now, most in rows
    ]  # fmt: skip
    return Answer(200, {"value": value})


def family_quota(cloud: Cloud, family: str) -> int:
    """How many cores a family gives."""
    return cloud.faults.quota_of.get(family, cloud.faults.quota_cores)


def cores_in_use(cloud: Cloud, subscription: str, location: str, family: str = "") -> int:
    """The cores of all machines there, or of those of a family."""
    found = cloud.of("Microsoft.Compute/virtualMachines", f"/subscriptions/{subscription}/")
    there = [
        SIZES[one["properties"]["hardwareProfile"]["vmSize"].lower()]
        for one in found
        if one["location"] == location
    ]
    return sum(size.cores for size in there if family in {"", size.family})


_AT = "/subscriptions/{sub}/providers/Microsoft.Compute"
ROUTES = (
    Route("GET", _AT + "/skus", "Microsoft.Compute/skus/read", _skus),
    Route(
        "GET",
        _AT + "/locations/{location}/usages",
        "Microsoft.Compute/locations/usages/read",
        _usages,
    ),
)
