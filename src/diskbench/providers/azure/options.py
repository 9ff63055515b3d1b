"""Options that only Azure has."""

from typing import ClassVar

from diskbench.model.options import Options, option


class AzureOptions(Options):
    """Who pays, and what only Azure sells: host caching, a tier above the size's own, higher
    limits for the asking, bursting on demand."""

    group: ClassVar[str] = "azure"
    panel: ClassVar[str] = "Azure"

    subscription: str | None = option(
        None,
        "Subscription id (default: AZURE_SUBSCRIPTION_ID).",
        metavar="ID",
        in_key="no",
        scopes=True,
    )
    cache: str | None = option(
        None,
        "Host caching of the disk (default: none).",
        values=("none", "readonly", "readwrite"),
        in_key="value",
        of_disk=True,
    )
    performance_tier: str | None = option(
        None, "A tier above the size's own, as P30 (Premium SSD).", metavar="TIER", of_disk=True
    )
    performance_plus: bool = option(
        default=False,
        about="Higher limits at no charge (above 512 GiB; not Premium SSD v2, Ultra).",
        of_disk=True,
    )
    bursting: bool = option(default=False, about="Bursting on demand (Premium SSD).", of_disk=True)
