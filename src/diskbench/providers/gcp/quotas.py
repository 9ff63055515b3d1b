"""The quotas of a project in a region, and the amount in use: "Region quotas" of Compute Engine
(regions.get). Machines of newer families count against metrics of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.model.finding import Quota
from diskbench.model.options import RentSpec
from diskbench.providers.gcp.lookup import region_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from diskbench.model.rental import Scope
    from diskbench.providers.gcp.client import GcpSessions
    from diskbench.providers.gcp.timing import GceTiming

_COUNTED: dict[str, tuple[str, tuple[str, ...]]] = {
    "CPUS": ("vcpus", ()),
    "PREEMPTIBLE_CPUS": ("spot-vcpus", ()),
    "INSTANCES": ("machines", ()),
    "IN_USE_ADDRESSES": ("addresses", ()),
    "DISKS_TOTAL_GB": ("disk-gib", ("pd-standard",)),
    "SSD_TOTAL_GB": ("disk-gib", ("pd-balanced", "pd-ssd", "pd-extreme")),
    "HDB_TOTAL_GB": ("disk-gib", ("hyperdisk-balanced",)),
}
"""Metric → what it counts. Where a family of machines has no metric of its own, it counts in CPUS
(Compute Engine, "Allocation quotas": CPU quota)."""
_FAMILY = "_CPUS"


def quotas(sessions: GcpSessions, scope: Scope, timing: GceTiming) -> Sequence[Quota]:
    """See ports.Metered."""
    compute = sessions.of_scope(scope, timing)
    project = compute.call("projects", "get")
    region = region_of(RentSpec(region=scope.region), project)
    region_info = compute.call("regions", "get", {"region": region})
    return list(_quotas(region_info.get("quotas", []), region))


def _quotas(listed: Sequence[dict[str, Any]], region: str) -> Iterator[Quota]:
    for quota in listed:
        metric = str(quota.get("metric", ""))
        kind, families = _COUNTED.get(metric, ("", ()))
        if metric.endswith(_FAMILY) and not kind and not metric.startswith("COMMITTED"):
            kind, families = "vcpus", (metric.removesuffix(_FAMILY).lower(),)
        if kind:
            yield Quota(
                kind=kind,
                of=families,
                name=metric,
                region=region,
                limit=float(quota.get("limit", 0)),
                used=float(quota.get("usage", 0)),
            )
