"""A region's quotas: limits, what is used of them, and what exceeds them.

Wording: Compute Engine, "Allocation quotas": told inside the operation as QUOTA_EXCEEDED.
"""

from collections import Counter
from typing import Any

from emulators.gcp import machine_types
from emulators.gcp.call import Failure
from emulators.gcp.cloud import Cloud
from emulators.gcp.regions import last

LIMITS: dict[str, float] = {
    "CPUS": 2400,
    "INSTANCES": 24_000,
    "DISKS_TOTAL_GB": 131_072,
    "SSD_TOTAL_GB": 131_072,
    "HDB_TOTAL_GB": 131_072,
    "LOCAL_SSD_TOTAL_GB": 24_000,
}
"""Our own: more than a benchmark rents."""
ALL_REGIONS, PER_FAMILY = "CPUS_ALL_REGIONS", "CPUS_PER_VM_FAMILY"
_UNTOLD = {ALL_REGIONS: 4800, PER_FAMILY: 2400}
"""What no region tells: the first is the project's, the second is told by Cloud Quotas alone."""
_OLD = {"n1", "n2", "n2d", "e2", "c2", "c2d", "t2d", "t2a", "c3", "a2", "m1", "m2", "m3"}
"""Series that the enum Quota.Metric of compute_v1 1.57.0 knows; later ones count by family."""
_METRICS = {
    "pd-standard": "DISKS_TOTAL_GB",
    "pd-balanced": "SSD_TOTAL_GB",
    "pd-ssd": "SSD_TOTAL_GB",
    "pd-extreme": "SSD_TOTAL_GB",
    "hyperdisk-balanced": "HDB_TOTAL_GB",
}


def of_disk(kind: str, size_gib: int) -> Counter[str]:
    """What a disk uses."""
    return Counter({_METRICS[kind]: size_gib} if kind in _METRICS else {})


def of_machine(kind: str) -> Counter[str]:
    """What a machine uses."""
    cpus = machine_types.SOLD[kind].cpus
    metric = "CPUS" if kind.partition("-")[0] in _OLD else PER_FAMILY
    return Counter({metric: cpus, ALL_REGIONS: cpus, "INSTANCES": 1})


def used(cloud: Cloud, region: str) -> Counter[str]:
    """What is rented in a region; with an empty name in all of them."""
    found: Counter[str] = Counter()
    below = f"projects/{cloud.project}/zones/{region}" + ("-" if region else "")
    both = f"projects/{cloud.project}/regions/{region}" + ("/" if region else "")
    for row in (cloud.of_kind("disks", below) | cloud.of_kind("disks", both)).values():
        found += of_disk(last(row["type"]), int(row["sizeGb"]))
    for row in cloud.of_kind("instances", below).values():
        found += of_machine(last(row["machineType"]))
    return found


def exceeded(cloud: Cloud, region: str, more: Counter[str]) -> Failure | None:
    """The first quota that `more` does not fit into, as an operation tells it."""
    total = used(cloud, region) + more
    total[ALL_REGIONS] = used(cloud, "")[ALL_REGIONS] + more[ALL_REGIONS]
    for metric, limit in (LIMITS | _UNTOLD | cloud.faults.quotas).items():
        if metric in more and total[metric] > limit:
            message = f"Quota '{metric}' exceeded.  Limit: {limit:.1f} in region {region}."
            return Failure("QUOTA_EXCEEDED", message, 403, "FORBIDDEN")
    return None


def told(cloud: Cloud, region: str) -> list[dict[str, Any]]:
    """The quotas as a region tells them."""
    now = used(cloud, region)
    return [
        {"metric": metric, "limit": float(limit), "usage": float(now[metric])}
        for metric, limit in (LIMITS | cloud.faults.quotas).items()
        if metric not in _UNTOLD
    ]


def of_project(cloud: Cloud) -> list[dict[str, Any]]:
    """The quotas as the project tells them."""
    limit = (_UNTOLD | cloud.faults.quotas)[ALL_REGIONS]
    usage = float(used(cloud, "")[ALL_REGIONS])
    return [{"metric": ALL_REGIONS, "limit": float(limit), "usage": usage}]
