"""Disk types: which are sold where, at what size, with what to provision. Pure, and its figures are
its own: it proves diskbench's catalogue.

Compute Engine, "Persistent Disk", "Extreme Persistent Disk", "Hyperdisk overview" (2026-08-26),
"About Hyperdisk Balanced / Extreme / Throughput / ML / Balanced High Availability". Throughput in
MiB/s. Disks whose data is in two zones are of a region: `regionDisks`.
"""

import math
from dataclasses import dataclass
from typing import Any

from emulators.gcp import lists, regions
from emulators.gcp.call import Call, invalid
from emulators.gcp.cloud import Cloud
from emulators.gcp.regions import link, path_of


@dataclass(frozen=True)
class DiskType:
    """A type: sizes in GB, the size of one that names none, and what can be provisioned."""

    size_gb: tuple[int, int]
    default_gb: int
    iops: bool = False
    throughput: bool = False
    new: bool = False
    zonal: bool = True
    regional_gb: int = 0
    """The least size of one of a region; 0 where there are none."""


SOLD = {
    "pd-standard": DiskType((10, 65_536), 500, regional_gb=200),
    "pd-balanced": DiskType((10, 65_536), 100, regional_gb=10),
    "pd-ssd": DiskType((10, 65_536), 100, regional_gb=10),
    "pd-extreme": DiskType((500, 65_536), 1000, iops=True),
    "hyperdisk-balanced": DiskType((4, 65_536), 100, iops=True, throughput=True, new=True),
    "hyperdisk-extreme": DiskType((64, 65_536), 1000, iops=True, new=True),
    "hyperdisk-throughput": DiskType((2048, 32_768), 2048, throughput=True, new=True),
    "hyperdisk-ml": DiskType((4, 65_536), 100, throughput=True, new=True),
    "hyperdisk-balanced-high-availability": DiskType(
        (4, 65_536), 100, iops=True, throughput=True, new=True, zonal=False, regional_gb=4
    ),
    "local-ssd": DiskType((375, 375), 375),
}


@dataclass(frozen=True)
class Sized:
    """A disk that is sold so."""

    kind: str
    size_gb: int
    iops: int | None
    throughput: int | None


def in_scope(scope: str) -> dict[str, DiskType]:
    """The types that a zone or a region offers."""
    if scope in regions.REGIONS:
        return {name: kind for name, kind in SOLD.items() if kind.regional_gb}
    return {
        name: kind
        for name, kind in SOLD.items()
        if kind.zonal and (scope != regions.OLD or not kind.new)
    }


def named(call: Call, reference: str, field: str) -> str:
    """The name of the type that a reference means. Raises Refusal."""
    path = path_of(reference, call.project) or ""
    name = path.removeprefix(f"{call.scope}/diskTypes/")
    if name not in in_scope(call.place):
        why = f"The referenced disk type does not exist in {call.place}."
        raise invalid(field, reference, why)
    return name


def checked(
    kind: str,
    size: int | None,
    iops: int | None,
    throughput: int | None,
    where: str,
    *,
    regional: bool = False,
) -> Sized:
    """The disk as it will be. Raises Refusal for one that is not sold so; `where` names the field
    before `sizeGb` and the others."""
    sold = SOLD[kind]
    size = sold.default_gb if size is None else size
    least, most = sold.size_gb
    _within(f"{where}sizeGb", size, (sold.regional_gb if regional else least, most))
    if iops is not None and not sold.iops:
        raise invalid(
            f"{where}provisionedIops", iops, f"Provisioned IOPS is not supported for {kind}."
        )
    if throughput is not None and not sold.throughput:
        why = f"Provisioned throughput is not supported for {kind}."
        raise invalid(f"{where}provisionedThroughput", throughput, why)
    if sold.iops:
        low, default, high = _iops(kind, size)
        iops = default if iops is None else iops
        _within(f"{where}provisionedIops", iops, (low, high))
    if sold.throughput:
        low, default, high = _throughput(kind, size, iops)
        throughput = default if throughput is None else throughput
        _within(f"{where}provisionedThroughput", throughput, (low, high))
    return Sized(kind, size, iops, throughput)


def _iops(kind: str, size: int) -> tuple[int, int, int]:
    """The least, the usual and the most."""
    match kind:
        case "pd-extreme":
            return 2500, 100_000, 120_000
        case "hyperdisk-balanced-high-availability":
            return 1, 3000, 100_000
        case "hyperdisk-extreme":
            high = min(350_000, 1200 * size)
            return min(high, 2 * size), min(high, 100 * size), high
        case _:
            high = min(160_000, 500 * size)
            return min(3000, high), min(high, 3000 + 6 * size), high


def _throughput(kind: str, size: int, iops: int | None) -> tuple[int, int, int]:
    if kind == "hyperdisk-ml":
        return 400, 400, 1_200_000
    if kind == "hyperdisk-balanced-high-availability":
        return 1, 140, 2400
    if kind == "hyperdisk-throughput":
        tib = size / 1024
        low, high = max(20, math.ceil(10 * tib)), min(2400, int(90 * tib))
        return low, high, high
    assert iops is not None
    high = max(140, min(2400, iops // 4))
    return 140, min(high, int(140 + 1.5 * size)), high


def _within(field: str, value: int, allowed: tuple[int, int]) -> None:
    low, high = allowed
    if value < low:
        raise invalid(field, value, f"Must be greater than or equal to '{low}'.")
    if value > high:
        raise invalid(field, value, f"Must be less than or equal to '{high}'.")


def aggregated_list(cloud: Cloud, call: Call) -> dict[str, Any]:
    """All disk types by zone and by region."""
    rows = {
        f"projects/{cloud.project}/{regions.below(scope)}/diskTypes/{name}": _row(
            cloud, scope, name
        )
        for scope in (*regions.ZONES, *regions.REGIONS)
        for name in in_scope(scope)
    }
    return lists.aggregated(call, "compute#diskTypeAggregatedList", "diskTypes", rows)


def _row(cloud: Cloud, scope: str, name: str) -> dict[str, Any]:
    sold, regional = SOLD[name], scope in regions.REGIONS
    low, high = sold.size_gb
    where = f"projects/{cloud.project}/{regions.below(scope)}"
    return regions.fixed(
        "diskType",
        f"{where}/diskTypes/{name}",
        validDiskSize=f"{sold.regional_gb if regional else low}GB-{high}GB",
        defaultDiskSizeGb=str(sold.default_gb),
        **{"region" if regional else "zone": link(where)},
    )
