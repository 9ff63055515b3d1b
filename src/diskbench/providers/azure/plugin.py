"""The Azure plugin of diskbench, its options, and how a guest shows that it is one of Azure."""

from typing import ClassVar

from diskbench.model.options import Options, option
from diskbench.plugin import GuestIdentity, Plugin, Redaction


class AzureOptions(Options):
    """Who pays, and what only Azure sells: host caching, a tier above the size's own, higher
    limits for the asking, bursting on demand."""

    group: ClassVar[str] = "azure"
    panel: ClassVar[str] = "Azure"

    subscription: str | None = option(
        None, "Subscription id (default: AZURE_SUBSCRIPTION_ID).",
        metavar="ID", in_key="no", scopes=True,
    )  # fmt: skip
    cache: str | None = option(
        None, "Host caching of the disk (default: none).",
        values=("none", "readonly", "readwrite"), in_key="value", of_disk=True,
    )  # fmt: skip
    performance_tier: str | None = option(
        None, "A tier above the size's own, as P30 (Premium SSD).", metavar="TIER", of_disk=True
    )
    performance_plus: bool = option(
        default=False,
        about="Higher limits at no charge (above 512 GiB; not Premium SSD v2, Ultra).",
        of_disk=True,
    )
    bursting: bool = option(default=False, about="Bursting on demand (Premium SSD).", of_disk=True)


_ASK = """
curl=$(command -v curl) || exit 0
"$curl" -sf -m 3 --noproxy '*' -H 'Metadata: true' \\
    'http://169.254.169.254/metadata/instance/compute/{}?api-version=2021-02-01&format=text'
"""
"""The header is required, and proxies are refused (Azure Instance Metadata Service, "Security and
authentication")."""


GUEST = GuestIdentity(
    # The asset tag of every Azure guest (cloud-init's ds-identify).
    firmware=({"chassis_asset_tag": "^7783-7084-3265-9085-8269-3286-77$"},),
    proof=_ASK.format("vmId"),
    machine_type=_ASK.format("vmSize"),
    is_instance=lambda printed, vm_id: printed.strip().lower() == vm_id.lower(),
    network_nvme_models=("MSFT NVMe Accelerator",),
)


PLUGIN = Plugin(
    name="azure",
    title="Azure",
    summary="Machines and managed disks of Microsoft Azure, or of an emulator.",
    provider="diskbench.providers.azure.cloud:AzureProvider",
    rents=True,
    options=(
        "diskbench.providers.azure.plugin:AzureOptions",
        "diskbench.providers.options:NetworkOptions",
        "diskbench.providers.options:EmulationOptions",
    ),
    account_option="subscription",
    # azure-mgmt-compute 39.0.0, Disk: "MB here uses the ISO notation, of powers of 10".
    throughput_unit_bytes=1_000_000,
    label="Azure",
    guest=GUEST,
    catalogue="diskbench.providers.azure:catalogue",
    quiet_loggers=("azure", "msal"),
    redaction=Redaction(
        variables=(
            "AZURE_SUBSCRIPTION_ID", "AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET",
            "AZURE_USERNAME", "AZURE_PASSWORD", "AZURE_CLIENT_CERTIFICATE_PASSWORD",
        ),
        options=("endpoint_url", "ssh_cidr"),
        fields=(
            "createdBy", "lastModifiedBy", "displayName", "keyData", "principalId", "tenantId",
            "tags",
        ),
        patterns={r"(?<=/resourceGroups/)(?!diskbench-)[^/?\"'\s]+": "group-{n}"},
    ),
    errors="diskbench.providers.azure.errors:TABLE",
)  # fmt: skip
