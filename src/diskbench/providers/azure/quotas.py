"""The quotas of a subscription in a region, and the amount in use.

Resource Manager: "Usage - List" of Microsoft.Compute, "Usages - List" of Microsoft.Network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.model.finding import Quota
from diskbench.model.options import RentSpec
from diskbench.providers.azure.client import region_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from diskbench.model.rental import Scope
    from diskbench.providers.azure.client import AzureSessions
    from diskbench.providers.azure.timing import AzureTiming

_KINDS = {
    "cores": "vcpus",
    "lowPriorityCores": "spot-vcpus",
    "PublicIPAddresses": "addresses",
    "StandardSkuPublicIpAddresses": "addresses",
}
_FAMILY = "Family"
"""The end of the names of counters of a size family (`standardDSv5Family`)."""


def quotas(sessions: AzureSessions, scope: Scope, timing: AzureTiming) -> Sequence[Quota]:
    """See ports.Metered."""
    edge = sessions.of_scope(scope).edge(timing)
    region = region_of(RentSpec(region=scope.region))
    listed = [
        *edge.listed("Microsoft.Compute/locations/usages/read", "compute", "usage.list", region),
        *edge.listed("Microsoft.Network/locations/usages/read", "network", "usages.list", region),
    ]
    return list(_quotas(listed, region))


def _quotas(listed: Sequence[dict[str, Any]], region: str) -> Iterator[Quota]:
    for usage in listed:
        name = str(usage["name"]["value"])
        family = name if name.endswith(_FAMILY) else ""
        kind = "vcpus" if family else _KINDS.get(name)
        if kind is not None:
            yield Quota(
                kind=kind,
                of=(family,) if family else (),
                name=str(usage["name"].get("localizedValue") or name),
                region=region,
                limit=usage["limit"],
                used=usage["currentValue"],
            )
